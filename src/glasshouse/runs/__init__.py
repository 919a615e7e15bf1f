"""Runs, opened: their model, tokenizer, spec and metrics; sampling and evaluating them."""

from glasshouse.runs.run import Run

__all__ = ["Run"]
