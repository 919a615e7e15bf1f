"""Claims about language models and classifiers trained from scratch."""
