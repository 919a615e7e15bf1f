"""Ways in which order enters a model that would otherwise see a bag of tokens."""
