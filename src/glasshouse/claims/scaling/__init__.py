"""Claims about scaling: the best size of the decoder-only translator by loss and by compute, and its extrapolation."""
