"""Scenes: small pictures of counted shapes and fish, drawn here, with captions in two languages whose meaning is known."""
