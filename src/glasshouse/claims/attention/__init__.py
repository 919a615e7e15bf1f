"""Claims about the parts of a Transformer block: attention, feed-forward layers, normalisation."""
