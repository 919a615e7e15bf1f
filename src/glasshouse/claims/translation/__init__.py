"""Claims about translation: more data, larger hidden sizes, and decoder-only against encoder-decoder models."""
