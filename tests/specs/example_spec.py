"""The spec that tests of specs start from."""

from glasshouse.specs.spec import DataSpec, Spec, TrainingSpec

BASE = Spec(data=DataSpec(source="state-of-the-union"), training=TrainingSpec(steps=10))
