"""Inspection of trained runs: activations captured at named probes, and analyses of models. Models know nothing of it."""
