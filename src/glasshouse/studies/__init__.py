"""Studies: several arms, each trained with several seeds, and a verdict on whether each arm differs from the first."""

from glasshouse.faces import face

__getattr__, __dir__ = face(
    __name__, {"api.studies": "compare sweep open_study list_studies judge_all_pairs studies_folder"}
)
