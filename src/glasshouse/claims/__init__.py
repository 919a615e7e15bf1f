"""Claims on trial: statements about Transformers from textbooks and course work, each tested by an experiment."""

from glasshouse.faces import face

__getattr__, __dir__ = face(
    __name__,
    {
        "api.studies": "check_claims claims_report list_claims try_claim",
    },
)
