"""The user's own files as data sources: plain text, labelled texts, translation pairs, captioned pictures."""
