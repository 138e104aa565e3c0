"""Texts of many languages in the encodings of programs: names, tables and notes, short and long."""

from __future__ import annotations

import functools
import random
import tomllib
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

WESTERN: Final = ("da", "de", "es", "fi", "fr", "it", "no", "pt", "sv")
CENTRAL: Final = ("cs", "hr", "hu", "pl", "ro", "sk", "sl")
ENCODINGS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("cp1252", "iso8859-15", "cp850", "mac-roman"), WESTERN),
    "cp437": ("de", "es", "fr", "it"),
    **dict.fromkeys(("cp1250", "iso8859-2", "cp852"), CENTRAL),
    "mac-latin2": ("cs", "hu", "pl"),
    "cp1251": ("bg", "ru", "uk"),
    "koi8-r": ("ru",),
    "koi8-u": ("uk",),
    "iso8859-5": ("bg", "ru"),
    "cp866": ("ru",),
    "mac-cyrillic": ("ru", "uk"),
    **dict.fromkeys(("cp1253", "iso8859-7"), ("el",)),
    **dict.fromkeys(("cp1254", "iso8859-9"), ("tr",)),
    **dict.fromkeys(("cp1255", "iso8859-8"), ("he",)),
    **dict.fromkeys(("cp1256", "iso8859-6"), ("ar",)),
    "cp1257": ("et", "lt", "lv"),
    "cp874": ("th",),
    **dict.fromkeys(("cp932", "euc_jp", "iso2022_jp"), ("ja",)),
    "gb18030": ("zh_cn",),
    "big5hkscs": ("zh_tw",),
    "cp949": ("ko",),
}
"""Encodings whose bytes do not say which one they are, and the languages that are written in each."""
LENGTHS: Final = (20, 200)
"""Letters beyond ASCII of a short and of a long text."""
SHAPES: Final = ("names", "table", "notes")
WORDS: Final = {"names": 2, "table": 3, "notes": 9}
"""Words of a line of each shape."""


class EncodedText(NamedTuple):
    """A text, and its bytes in an encoding."""

    encoding: str
    language: str
    shape: str
    letters: int
    data: bytes
    text: str


@functools.cache
def words() -> dict[str, list[str]]:
    """Return words by language."""
    path = Path(__file__).parent.parent / "data" / "words_of_languages.toml"
    return {name: text.split() for name, text in tomllib.loads(path.read_text("utf-8")).items()}


def languages() -> tuple[str, ...]:
    """Return the languages of which there are words."""
    return tuple(words())


def encoded(encoding: str, language: str, shape: str, letters: int, seed: int = 0) -> EncodedText:
    """Return a text with at least so many letters beyond ASCII, without signs that the encoding lacks."""
    choices = random.Random(f"{encoding} {language} {shape} {letters} {seed}")
    text, number, count = "id;name;city;note\n" if shape == "table" else "", 1, 0
    while count < letters:
        words_of_line = choices.choices(words()[language], k=WORDS[shape])
        if shape == "table":
            words_of_line[:0] = [str(number)]
        ends = {"names": " ", "table": ";", "notes": " "}[shape]
        line = ends.join(words_of_line) + (".\n" if shape == "notes" else "\n")
        if language == "ro":
            # The letters with a comma came after these encodings.
            line = line.translate(str.maketrans("șțȘȚ", "şţŞŢ"))
        line = line.encode(encoding, "ignore").decode(encoding)
        text, number = text + line, number + 1
        count += sum(each.isalpha() for each in line if not each.isascii())
    return EncodedText(
        encoding, language, shape, letters, text.encode(encoding), unicodedata.normalize("NFC", text)
    )


def every() -> Iterator[EncodedText]:
    """Yield a text of each encoding, language, shape and length."""
    for encoding, its_languages in ENCODINGS.items():
        for language in its_languages:
            for shape in SHAPES:
                for letters in LENGTHS:
                    yield encoded(encoding, language, shape, letters)
