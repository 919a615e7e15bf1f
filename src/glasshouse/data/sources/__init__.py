"""Data sets by name, each in its own file behind the catalogue; and how a named one is found or fetched."""
