"""Studies: several arms, each trained with several seeds, and a verdict on whether each arm differs from the first."""
