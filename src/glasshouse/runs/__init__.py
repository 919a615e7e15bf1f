"""Open runs: their model, tokenizer, spec and metrics; and use them: sample, evaluate, classify, translate, embed."""

from glasshouse.runs.run import Run

__all__ = ["Run"]
