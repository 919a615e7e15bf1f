"""Specs: the dataclasses that define a run, their files, recipes, catalogues and errors. Nothing here imports torch."""
