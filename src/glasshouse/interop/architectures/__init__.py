"""Hugging Face architectures, one table in a file each; `base` defines what a table holds."""
