"""Damaged files and wild values for `benchmarks/hostile.py`, and how one of them is tried in a process of its own."""
