"""Text is escaped for LaTeX."""

import pytest

from glasshouse.pages import latex_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("24 steps (-1.8%), pad=-1", r"24 steps ($-$1.8\%), pad=$-$1"),
        ("3e-4, 2024-05-06, dot-product", "3e-4, 2024-05-06, dot-product"),
        ("a--b---c – d", r"a-{}-b-{}-{}-c \textendash{} d"),
        ("?`x`", r"?\`{}x\`{}"),
        ("2.4×10⁻⁹, 3×", r"2.4$\times10^{-9}$, 3$\times$"),
        ("u\u0308ber, Łódź, ą, α 中", r"über, Łódź, U+0105\allowbreak{}, U+03B1\allowbreak{} U+4E2D\allowbreak{}"),
        ("/data/my_own/speech-lm.toml", r"/\allowbreak{}data/\allowbreak{}my\_\allowbreak{}own/\allowbreak{}speech-lm.toml"),
    ],
)
def test_text_is_escaped(text: str, expected: str) -> None:
    assert latex_text.escape(text) == expected
