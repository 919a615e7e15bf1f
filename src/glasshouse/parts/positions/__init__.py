"""Positional encodings: how the order of the tokens enters a model."""
