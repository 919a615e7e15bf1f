"""Splitting of a text into pieces with the kernel of the pre-tokenizer."""

from glasshouse.tokenizers.pretokenizer import character_classes, piece_end


def split(text, pattern):
    data = text.encode()
    pieces, start = [], 0
    while start < len(data):
        end = piece_end(data, start, len(data), character_classes(), pattern == "gpt-4")
        assert end > start
        pieces.append(data[start:end].decode())
        start = end
    return pieces
