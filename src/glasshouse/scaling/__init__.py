"""Scaling laws: how the loss depends on parameters, tokens and compute, and what is best for a budget."""
