"""Claims on trial: what textbooks and course work assert about Transformers, each as an experiment with a verdict."""
