"""Looking inside: activations captured at named probes, and what is made of them. A model knows nothing of it."""
