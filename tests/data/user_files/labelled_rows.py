"""Rows of a class label and a text. The words of a text reveal its class."""

import numpy as np

WORDS = {"fruit": ["apple", "pear", "plum"], "tool": ["saw", "drill", "rasp"], "bird": ["wren", "owl", "crow"]}


def labelled_rows(count=120, classes=3, seed=0):
    """(label, text) of each row."""
    generator = np.random.default_rng(seed)
    labels = list(WORDS)[:classes]
    rows = []
    for _ in range(count):
        label = labels[generator.integers(len(labels))]
        rows.append((label, " ".join(generator.choice(WORDS[label], generator.integers(1, 7)))))
    return rows
