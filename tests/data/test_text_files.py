"""The encoding of a file that is not UTF-8 is guessed, and a wrong guess is rather not made."""

import pytest

from glasshouse.data import text_files
from glasshouse.specs.errors import DataError
from tests.refusals import refused

JAPANESE = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。"
TEXTS = {
    "shift_jis": JAPANESE,
    "euc_jp": JAPANESE,
    "gb18030": "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心,并应以兄弟关系的精神相对待。",
    "cp1251": "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью.",
    "cp1252": "Le café est très fort – “déjà” l’été… Müller wohnt in der Straße, señor. Ça coûte 5 €.",
    "utf-16-le": "All human beings are born free and equal in dignity and rights.\nThey have reason.",
    "utf-16-be": "All human beings are born free and equal in dignity and rights.\nThey have reason.",
}


@pytest.mark.parametrize("encoding", TEXTS)
def test_the_encoding_is_guessed(encoding):
    assert text_files.guessed_encoding(f"text,label\n{TEXTS[encoding]}\n".encode(encoding)) == encoding


def test_no_guess_is_made_for_damaged_utf_8_and_for_noise():
    assert text_files.guessed_encoding("A few words and é".encode()[:-1]) == ""
    assert text_files.guessed_encoding("äöüß und ähnliche Wörter mögen größer sein\n".encode() + b"\xe9") == ""
    assert text_files.guessed_encoding(bytes(range(128, 256)) * 4) == ""


def test_a_byte_order_mark_goes_before_a_name():
    assert text_files.encoding_of("\ufeffa".encode()) == "utf-8"
    assert text_files.encoding_of("a".encode("utf-16"), "latin-1") == "utf-16"
    assert text_files.encoding_of("a".encode("utf-32")) == "utf-32"
    assert text_files.encoding_of(b"a", "Latin-1") == "iso8859-1"
    for name in ("martian", "rot13"):
        with refused(DataError, name, "shift_jis"):
            text_files.encoding_of(b"a", name)
