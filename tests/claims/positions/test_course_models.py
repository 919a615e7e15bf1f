"""The models of the course: what is planned at the reported and at tuned learning rates."""

from glasshouse.claims.positions import course_models
from glasshouse.claims.positions.course_models import REPORTED, TUNED
from glasshouse.studies import arms


def test_the_reported_rate_is_fixed_and_a_tuned_one_is_chosen_on_held_out_text():
    for plans in (course_models.language_models, course_models.classifiers):
        reported, tuned = (plans("model", setting, ("learned", "alibi")) for setting in (REPORTED, TUNED))
        for variant in arms.expand(arms.parse(reported.words)):
            assert variant.spec.training.learning_rate == 1e-3
            assert variant.spec.data.validation == 0
        assert reported.tune is None
        assert all(variant.spec.data.validation == 0.1 for variant in arms.expand(arms.parse(tuned.words)))
        field, _, rates = tuned.tune.partition("=")
        low, *inner, high = map(float, rates.split(","))
        assert field == "training.learning_rate"
        assert low < 1e-3 < high
        assert 1e-3 in inner, "the reported rate is one of the candidates"


def test_both_models_have_the_vocabulary_of_the_course():
    for words in (course_models.LANGUAGE_MODEL, course_models.CLASSIFIER):
        assert "data.tokenizer=treebank-words" in words
