"""Claims about positional encodings: their quality, their speed, and how well they extrapolate to longer input."""
