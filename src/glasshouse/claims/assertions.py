"""Assertions about Transformers that are known and wait for a trial, by group. Those with a trial are in the catalogue."""

from glasshouse.claims.claim import GROUPS

_ATTENTION, _POSITIONS, _RECURRENT, _FROM_SCRATCH, _TRANSLATION, _PRETRAINING, _SCALING, _LARGE_MODELS = GROUPS

# Group -> name -> statement.
ASSERTIONS: dict[str, dict[str, str]] = {
    _ATTENTION: {},
    _POSITIONS: {},
    _RECURRENT: {},
    _FROM_SCRATCH: {
        "cpu-gpu": "Training is 11.6 times faster on the course's GPU than on its CPU.",
    },
    _TRANSLATION: {},
    _PRETRAINING: {},
    _SCALING: {},
    _LARGE_MODELS: {},
}
