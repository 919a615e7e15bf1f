"""Claims about working with large language models."""
