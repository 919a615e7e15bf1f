"""The claim feed-forward-size: its rule on made-up losses."""

from glasshouse.claims.from_scratch import feed_forward_size, speech_lm
from tests.claims.example_values import close_values


def test_the_larger_feed_forward_part_must_be_better_on_all_four_texts():
    texts = list(speech_lm.TEXTS)
    narrow = {text: close_values(6.0) for text in texts}
    better = {text: close_values(5.9, shift=3) for text in texts}

    def verdict(wide: dict[str, dict[int, float]]) -> str:
        return feed_forward_size.better_everywhere(feed_forward_size.compare_sizes({"100": narrow, "256": wide}))

    assert verdict(better) == "upheld"
    assert verdict({**better, texts[-1]: close_values(6.0, shift=3)}) == "refuted"
    assert verdict({**better, texts[-1]: close_values(5.9, 0.5, shift=3)}) == "undecided"
