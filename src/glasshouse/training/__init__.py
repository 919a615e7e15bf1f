"""Training: one loop for every model and task."""
