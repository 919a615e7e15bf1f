"""A directory as Hugging Face programs write it, with a small random BERT and a tokenizer of words."""

from pathlib import Path
from typing import Any

from glasshouse.tokenizers.words import Words
from tests import needs


def save_small_encoder(folder: Path, text: str, **more: Any) -> Path:
    """Write an encoder of width 16 whose tokenizer knows the words of a text."""
    transformers = needs.package("transformers")
    transformers.logging.disable_progress_bar()
    tokenizer = Words.train([text], 60)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    config = transformers.BertConfig(vocab_size=tokenizer.vocabulary, max_position_embeddings=20, **{**sizes, **more})
    transformers.BertModel(config).save_pretrained(folder)
    tokenizer.save(folder / "tokenizer.json")
    return folder
