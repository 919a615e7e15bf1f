"""Metrics: pure functions of numbers and arrays."""
