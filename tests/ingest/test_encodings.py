"""Texts are read by the encoding that they have: by their mark, their declaration, or a guess."""

from __future__ import annotations

import codecs
import itertools
from collections import Counter

from graphmem.ingest.child import parsed_here
from graphmem.ingest.decoding import decoded, meant
from graphmem.ingest.document import DocumentLimits
from tests.support.encoded_texts import LENGTHS, SHAPES, EncodedText, encoded, every, languages
from tests.support.examples import LONG
from tests.support.figures import Figures
from tests.support.walks import walk_over


def test_a_guess_gives_the_text_that_was_written(figures: Figures) -> None:
    """The text is compared, not the name: in some encodings the same bytes are the same text."""
    right, tried = Counter[int](), Counter[int]()
    for text in itertools.islice(every(), 0, None, 1 if LONG else 3):
        tried[text.letters] += 1
        right[text.letters] += decoded(text.data).text == text.text
    shares = {letters: right[letters] / tried[letters] for letters in LENGTHS}
    figures(f"right of {dict(tried)} by letters beyond ASCII: {shares}")
    assert shares[20] >= 0.95
    assert tried[200] - right[200] <= max(1, tried[200] // 100)


@walk_over("language", languages())
def test_a_text_of_unicode_needs_no_mark(language: str) -> None:
    for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
        for shape in SHAPES:
            text = encoded(encoding, language, shape, 20)
            assert decoded(text.data).text == text.text, encoding
    marked = encoded("utf-16-le", language, "names", 20)
    assert decoded(codecs.BOM_UTF16_LE + marked.data).text == marked.text


def test_a_file_in_utf_16_without_line_ends_and_blanks_in_it_is_no_binary_file() -> None:
    text = "日本語\n中文\n한국어\n"
    assert decoded(text.encode("utf-16-be")).text == text


@walk_over("label, encoding", [
        ("Shift_JIS", "cp932"), ("x-sjis", "cp932"), ("EUC-KR", "cp949"), ("ks_c_5601-1987", "cp949"),
        ("Big5", "big5hkscs"), ("GB2312", "gb18030"), ("ISO-8859-1", "cp1252"), ("us-ascii", "cp1252"),
        ("iso-8859-9", "cp1254"), ("TIS-620", "cp874"), ("macintosh", "mac-roman"), ("UTF8", "utf-8"),
        ("hex", None), ("nothing", None), ("", None), (None, None),
    ])  # fmt: skip
def test_a_label_means_what_it_means_in_browsers(label: str | None, encoding: str | None) -> None:
    assert meant(label) == encoding


@walk_over("text", list(every())[::7])
def test_a_declared_charset_is_the_encoding(text: EncodedText) -> None:
    declared = f'text/plain; format=flowed; charset="{text.encoding}"'
    document = parsed_here(text.data, declared, "notes.txt", DocumentLimits())
    assert (document.text.strip(), document.warnings) == (text.text.strip(), ())
    assert meant(document.metadata["encoding"]) == meant(text.encoding)
    assert document.metadata["declared_type"] == "text/plain"


def test_a_charset_that_does_not_fit_is_told_and_the_bytes_decide() -> None:
    data = "Zoë Müller, Århus, Smörgåsbord".encode("cp1252")
    for charset, what in (("utf-8", "does not fit the file"), ("klingon", "is unknown")):
        document = parsed_here(data, f"text/plain; charset={charset}", "a.txt", DocumentLimits())
        assert document.text == "Zoë Müller, Århus, Smörgåsbord"
        assert document.warnings[0] == f"The charset {charset} {what}: the encoding is found by the bytes."


def test_a_guess_names_the_next_likely_encoding_which_reads_another_text() -> None:
    data = "Dvořák;Plzeň;žluťoučký kůň".encode("iso8859-2")
    text, encoding, (warning,) = decoded(data)
    assert (text, encoding) == ("Dvořák;Plzeň;žluťoučký kůň", "iso8859-2")
    other = warning.rpartition("charset=")[2].removesuffix(".")
    assert warning.startswith(f"The encoding is a guess: iso8859-2, the next likely one is {other}.")
    assert data.decode(other) != text


def test_a_guess_looks_at_what_is_beyond_ascii() -> None:
    text = "name;city\n" + "Ada;London\n" * 20_000 + "Dvořák;Plzeň\nŽižka;Trocnov\n"
    assert decoded(text.encode("cp1250")).text == text


def test_what_a_file_declares_itself_counts_where_utf_8_does_not_fit() -> None:
    xml = '<?xml version="1.0" encoding="koi8-r"?>\n<a>Привет</a>\n'
    assert decoded(xml.encode("koi8-r")).text == xml
    # Many files of UTF-8 declare another encoding.
    assert decoded(xml.encode()).text == xml
    # A text of two bytes a character may look like UTF-8, which is less likely than what it declares.
    assert decoded("셔".encode("cp949"), "euc-kr").text == "셔"


def test_text_that_changes_alphabets_by_escapes_is_japanese_or_korean() -> None:
    for text, encoding in (("山田太郎,東京都\n", "iso2022_jp"), ("김철수\n", "iso2022_kr")):
        assert decoded(text.encode(encoding)).text == text
