"""Heads: from hidden states to logits, or to one vector per sequence."""
