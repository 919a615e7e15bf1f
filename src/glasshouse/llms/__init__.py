"""Language models behind an API, our own runs included, and experiments on them."""

from glasshouse.faces import face

__getattr__, __dir__ = face(
    __name__,
    {
        "api.llms": "ask debate grid open_chat open_grid open_language_model open_recovery recover recovery_error run_grid "
        "write_recovered",
    },
)
