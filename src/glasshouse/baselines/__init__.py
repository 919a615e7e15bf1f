"""Baselines: what a sensible person tries first, trained in seconds on the split of a run. Knows no training loop."""
