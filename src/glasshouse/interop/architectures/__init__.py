"""Architectures of Hugging Face, each a table in its own file; what a table is stands in `base`."""
