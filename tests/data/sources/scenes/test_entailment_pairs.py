"""Entailment pairs: right labels, and hypotheses that do not reveal them."""

from glasshouse.data.sources.scenes import entailment_pairs, entailment_rules
from glasshouse.data.sources.scenes.parser import parse


def test_a_hypothesis_alone_does_not_reveal_the_label(small_sources):
    labels: dict = {}
    for document in entailment_pairs.ScenePairs().documents("train"):
        premise, hypothesis = map(parse, document.text.split("\n"))
        assert entailment_rules.label_pair(premise, hypothesis) == document.fields["label"]
        labels.setdefault(hypothesis, []).append(document.fields["label"])
    for hypothesis_labels in labels.values():
        counts = {hypothesis_labels.count(label) for label in entailment_rules.LABELS}
        assert counts == {len(hypothesis_labels) // 3}
