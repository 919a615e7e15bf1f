"""Tables in files: delimited text, JSON, Parquet, Arrow, CoNLL and folders of texts, and the meaning of their columns."""
