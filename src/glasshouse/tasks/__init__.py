"""Tasks: what is asked of a model. A task knows examples, batches, losses and metrics; it knows no training loop."""
