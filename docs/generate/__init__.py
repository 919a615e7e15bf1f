"""Generates pages of the documentation from the program. `make pages` writes them; a test checks that they are current."""
