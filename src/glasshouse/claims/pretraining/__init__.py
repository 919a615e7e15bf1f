"""Claims about pretraining and fine-tuning."""
