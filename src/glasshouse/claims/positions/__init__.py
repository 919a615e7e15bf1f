"""Claims about positional encodings: their quality, their speed, and how they extrapolate to longer input."""
