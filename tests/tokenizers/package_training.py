"""Training of byte-pair encoding with the `tokenizers` package, with the settings of our own training."""

from glasshouse.tokenizers.piece_patterns import PATTERNS
from tests.tokenizers.difficult_texts import END_OF_TEXT
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers


def train_with_package(text, vocabulary, pattern):
    theirs = Tokenizer(models.BPE())
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern == "gpt-2")
    split = pre_tokenizers.Split(Regex(PATTERNS["gpt-4"]), behavior="isolated")
    theirs.pre_tokenizer = byte_level if pattern == "gpt-2" else pre_tokenizers.Sequence([split, byte_level])
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    theirs.train_from_iterator([text], trainer)
    return theirs
