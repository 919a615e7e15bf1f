"""Claims on trial: statements about Transformers from textbooks and course work, each tested by an experiment."""
