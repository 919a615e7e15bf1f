"""Generation: from logits to tokens, and from tokens to a stream of text."""
