"""Claims on trial: what textbooks and course work assert about Transformers, as experiments with a verdict; a file each."""
