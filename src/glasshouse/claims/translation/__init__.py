"""Claims about translation: encoder-decoder against decoder-only models."""
