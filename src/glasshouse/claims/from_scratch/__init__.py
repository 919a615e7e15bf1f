"""Claims about tokenizers, language models and classifiers trained from scratch."""
