"""Pages of the documentation that are made from the program: `make docs` writes them, and a test holds them current."""
