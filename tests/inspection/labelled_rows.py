"""Rows of words that belong to one of three classes, which a tiny classifier learns within seconds."""

import numpy as np

WORDS = {"fruit": ["apple", "pear", "plum"], "tool": ["saw", "drill", "rasp"], "bird": ["wren", "owl", "crow"]}


def rows(count: int = 150, seed: int = 0) -> list[tuple[str, str]]:
    """(label, text): three words of the class, and a number that makes the text unique."""
    generator = np.random.default_rng(seed)
    names = list(WORDS)
    labels = [names[generator.integers(3)] for _ in range(count)]
    return [(label, f"{' '.join(generator.choice(WORDS[label], 3))} {number}") for number, label in enumerate(labels)]
