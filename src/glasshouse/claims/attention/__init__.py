"""Claims about the parts of a block: attention, feed-forward layers, normalisation."""
