"""The named data sets, one module each, and the code that lists, finds and fetches them."""
