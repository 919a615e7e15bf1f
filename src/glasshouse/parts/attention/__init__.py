"""Attention: each token gathers from the others."""
