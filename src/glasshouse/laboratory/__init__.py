"""Experiments on runs, and what they prove."""
