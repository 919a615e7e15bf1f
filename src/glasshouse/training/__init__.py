"""Training: one loop for all models and tasks, with its engine, optimisers, schedules, replicas and cost plan."""
