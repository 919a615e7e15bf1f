"""Generation: from logits to tokens, and from tokens to text as it comes."""
