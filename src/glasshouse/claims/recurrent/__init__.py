"""Claims about recurrent networks and gradients."""
