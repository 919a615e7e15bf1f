"""From sources of text to batches of tokens."""

from glasshouse.faces import face

__getattr__, __dir__ = face(
    __name__,
    {
        "api.data": "LookedAtData data_set data_set_packages data_sets get_data load_tokenizer look_at_data train_tokenizer",
        "api.corpora": "prepare_data",
        "api.experiments": "augment",
    },
)
