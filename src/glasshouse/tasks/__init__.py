"""Tasks: what a model is trained to do. A task knows examples, batches, losses and metrics, but not the training loop."""
