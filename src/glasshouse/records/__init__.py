"""Records: run folders, checkpoints, metric logs, locks and progress bars. Knows nothing about models."""
