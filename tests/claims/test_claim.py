"""Every claim in the catalogue has the texts that a reader needs."""

import pytest

from glasshouse.claims.claim import Claim
from glasshouse.specs import catalogue


def test_every_claim_has_its_texts():
    for name in catalogue.names("claim"):
        claim = catalogue.find("claim", name)
        assert issubclass(claim, Claim)
        for text in (claim.statement, claim.source, claim.reported, claim.rule):
            assert isinstance(text, str)
            assert text.strip() == text != ""
        assert claim.statement.endswith(".")
        assert claim.seeds >= 2
        assert set(claim.needs) <= set(catalogue.names("source")), name


def test_every_rule_names_the_three_verdicts():
    for name in catalogue.names("claim"):
        claim = catalogue.find("claim", name)
        texts = (claim.statement, claim.source, claim.reported, claim.rule)
        assert all(texts), name
        assert all(word in claim.rule.lower() for word in ("upheld", "refuted", "undecided")), name


@pytest.mark.parametrize(
    "name",
    [
        "gpt-wikitext",
        "bpe",
        "nmt",
        "nmt-loss-plots",
        "decoder-only-nmt",
        "mlm",
        "mlm-steps",
        "frozen-head",
        "pretraining-domain",
        "unfreezing",
    ],
)
def test_the_claim_is_in_the_catalogue(name):
    claim = catalogue.find("claim", name)
    assert all(isinstance(getattr(claim, field), str) for field in ("statement", "source", "reported", "rule"))
    assert "undecided" in claim.rule
