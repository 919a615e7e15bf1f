"""Scaling laws: how the loss depends on parameters, tokens and compute, and what is best for a budget."""

from glasshouse.faces import face

__getattr__, __dir__ = face(
    __name__,
    {
        "api.scaling": "plan run fit check transfer study_of list_studies open_study content write_page write_figures",
    },
)
