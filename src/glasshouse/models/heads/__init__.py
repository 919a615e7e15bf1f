"""Heads: what a model's features are turned into."""
