"""Studies: several arms trained with several seeds each, and a verdict on whether they differ."""
