"""The world's models: read into runs, and runs written as others read them."""
