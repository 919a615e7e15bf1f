"""Whether a run in an arm's folder is a run of the arm: a run that was put there from elsewhere decides no verdict."""

from glasshouse.records.run_folder import RunFolder
from glasshouse.specs import spec_files
from glasshouse.specs.errors import RunError
from glasshouse.studies.study_folder import PlannedArm


def check(run: RunFolder, arm: PlannedArm) -> None:
    """Refuse a run whose spec has another value of a field that its arm varies.

    The tables are compared as they are written, which takes a third of the time that specs take. A field that one of them
    does not have, because an earlier release wrote it, is no reason to refuse.
    """
    if not arm.changes:
        return
    planned = spec_files.flat_fields(spec_files.tables_from_toml(spec_files.to_toml(arm.spec), run.name))
    found = spec_files.flat_fields(run.tables())
    for field in arm.changes:
        if field in planned and field in found and planned[field] != found[field]:
            raise RunError(
                f"{run.path} has {field}={str(found[field])[:100]!r}, and its arm has {str(planned[field])[:100]!r}; put "
                "the run of the arm back, or delete this one to train it again"
            )
