"""The spec of the run folders in the tests of records."""

from glasshouse.specs.spec import DataSpec, Spec, TrainingSpec

SPEC = Spec(data=DataSpec(source="state-of-the-union"), training=TrainingSpec(steps=10))
