"""Scenes: small generated pictures of counted shapes and fish, with captions of known meaning in English and German."""
