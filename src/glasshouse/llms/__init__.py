"""Language models behind an API, our own runs included, and experiments on them."""
