"""What the claims about verbal arithmetic share: a pretraining whose runs all diverged is refused."""

from glasshouse.claims.pretraining import arithmetic
from tests.refusals import refused


def test_a_study_without_a_finished_run_is_refused():
    with refused("all-diverged", "'pretraining'"):
        arithmetic.first_run([], "pretraining")
