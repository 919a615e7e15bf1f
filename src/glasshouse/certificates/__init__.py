"""Certificates: pairs of ways to compute the same result, checked to agree."""
