"""Attention: each token mixes in information from other tokens."""
