"""Identifiers in texts: which texts are one, and which texts have one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.search import written_identifiers
from graphmem.search.written_identifiers import Extent
from graphmem.text import words
from tests.support.examples import examples
from tests.support.long_texts import lines_run
from tests.support.walks import walk_over

WHOLE, PART = Extent.WHOLE, Extent.PART
IBAN = "DE89 3704 0044 0532 0130 00"
CARD = "4111 1111 1111 1111"


def extent(looked_up: str, text: str, region: str | None = None) -> Extent | None:
    sought = written_identifiers.sought(looked_up, region)
    assert sought is not None, looked_up
    found = sought.extent_in(text)
    words_of_text = f" {' '.join(words.tokens(text))} "
    if found is not None and text.isascii():
        # The index proposes what has it.
        assert any(pattern in words_of_text for pattern in sought.patterns), (looked_up, text)
        assert any(needle in text.lower() for needle in sought.needles), (looked_up, text)
    return found


@walk_over(
    "looked_up, text, expected",
    [
        # E-mail addresses.
        ("ada@example.org", "Ada@Example.ORG", WHOLE),
        ("ada@example.org", "mailto:ada@example.org", PART),
        ("ada@example.org", "Ada <ada@example.org>, Bob <bob@example.org>", PART),
        ("ada@example.org", "Write to ada@example.org.", PART),
        ("ada@example.org", "ada@example.org's letter", PART),
        ("ada@example.org", "bob@x.org,ada@example.org;ann@x.org", PART),
        ("ada@example.org", "ada@example.org.uk", None),
        ("ada@example.org", "mary-ada@example.org", None),
        ("ada@example.org", "mary.ada@example.org", None),
        ("ada@example.org", "x+ada@example.org", None),
        ("ada@example.org", "ada@example.organic", None),
        ("ada@example.org", "ada@example.org/x", None),
        ("ada@example.org", "ada.example.org", None),
        ("ada@example.org", "https://x.org/?to=ada@example.org", None),
        # Addresses on the web.
        ("https://acme.example/jobs", "see acme.example/jobs.", PART),
        ("https://acme.example/jobs", "http://www.ACME.example/jobs/", WHOLE),
        ("https://acme.example/jobs", "[jobs](https://acme.example/jobs)", PART),
        ("https://acme.example/jobs", "https://acme.example/jobs/42", None),
        ("https://acme.example/jobs", "https://acme.example/jobs?x=1", None),
        ("https://acme.example/jobs", "acme.example/jobs,42", None),
        ("https://acme.example/jobs", "https://acme.example/jobs,42", None),
        ("https://acme.example/jobs", "https://my.acme.example/jobs", None),
        ("https://x.example/a_(b)", "(see https://x.example/a_(b))", PART),
        ("example.org", "the domain example.org is ours", PART),
        ("example.org", "ada@example.org", PART),
        ("example.org", "ada@mail.example.org", None),
        ("example.org", "https://example.org/jobs", None),
        ("example.org", "id.example.org", None),
        # Codes.
        ("INV-2024-001", "Please pay INV-2024-001 soon.", PART),
        ("INV-2024-001", "“inv-2024-001”", WHOLE),
        ("INV-2024-001", "INV-2024-001's total", PART),
        ("INV-2024-001", "Invoice:INV-2024-001, INV-2024-002", PART),
        ("INV-2024-001", "INV‑2024‑001", WHOLE),
        ("INV-2024-001", "INV-2024-001.pdf", PART),
        ("INV-2024-001", "**INV-2024-001**", WHOLE),
        ("INV-2024-001", "_INV-2024-001_", WHOLE),
        ("INV-2024-001", "请支付INV-2024-001号", PART),
        ("INV-2024-001", "INV2024001", WHOLE),
        ("INV-2024-001", "INV 2024 001", WHOLE),
        ("INV2024001", "INV-2024-001", WHOLE),
        ("INV2024001", "pay INV-2024001 soon", PART),
        ("TB0042", "sku: TB-0042", PART),
        ("123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-426614174000", WHOLE),
        ("123E4567-E89B-12D3-A456-426614174000", "123e4567e89b12d3a456426614174000", WHOLE),
        ("INV-2024-001", "INV-2024-001\nINV-2024-002", PART),
        ("INV-2024-001", "INV-2024-001-B", None),
        ("INV-2024-001", "INV-2024-0010", None),
        ("INV-2024-001", "INV-2024-001.2", None),
        ("INV-2024-001", "INV-2024-001/2", None),
        ("INV-2024-001", "A-INV-2024-001", None),
        ("INV-2024-001", "_x_INV-2024-001", None),
        ("INV-2024-001", "https://x.example/INV-2024-001", None),
        ("INV-2024-001", "INV-20240-01", None),
        ("ORD-77", "ORD 77 of Acme", PART),
        ("ORD77", "ORD 77 of Acme", PART),
        ("IN2024", "in 2024", None),
        ("#4711", "ticket #4711: it burns", PART),
        ("4711", "no.4711", PART),
        ("4711", "No. 4711!", PART),
        ("4711", "id=4711", PART),
        ("4711", "4711 chairs", PART),
        ("4711", "4711-1", None),
        ("4711", "1,4711", None),
        ("4711", "4711.50", None),
        ("4711", "$4711", None),
        ("4711", "10:4711", None),
        ("INV77", "INV77 2024 Q3", PART),
        ("4711-1", "47111", WHOLE),
        ("4711-1", "471-11", None),
        ("47110815", "2047110815", None),
        ("20240508", "2024-05-08", None),
        ("budget_2026", "budget_2026 v1.2", PART),
        ("v1.2", "budget_2026 v1.2", PART),
        ("2026_budget", "budget_2026 v1.2", None),
        ("o'neil12", "O’Neil12 said", PART),
        # Numbers in groups.
        (IBAN, IBAN, WHOLE),
        (IBAN, IBAN.replace(" ", ""), WHOLE),
        (IBAN.replace(" ", ""), f"IBAN {IBAN} BIC COBADEFF", PART),
        (IBAN.replace(" ", "-"), f"IBAN: {IBAN}.", PART),
        (IBAN, f"{IBAN} 12 EUR", PART),
        ("DE89 3704 0044", f"{IBAN} 12", None),
        (IBAN, f"{IBAN[:-1]}1", None),
        (CARD, f"{CARD} 1111", None),
        (CARD, f"paid by {CARD}, 2026-01-01", PART),
        ("1111 1111", CARD, None),
        ("0044 0532", IBAN, None),
        # Telephone numbers.
        ("+44 20 7946 0018", "Call +44 (20) 7946-0018!", PART),
        ("00442079460018", "+44 20 7946 0018", WHOLE),
        ("+44 20 7946 0018", "tel:+442079460018", PART),
        ("+44 20 7946 0018", "+44 20 7946 0018 ext. 5", WHOLE),
        ("+44 20 7946 0018 x5", "+44 20 7946 0018 ext. 6", None),
        ("+44 20 7946 0018", "+44 20 7946 00187", None),
        ("01 23 45 67 32", "01 23 45 67 89, 01 98 76 54 32", None),
        ("01 98 76 54 32", "01 23 45 67 89 / 01 98 76 54 32", PART),
        ("01 98 76 54 32", "0198765432", WHOLE),
        ("0198765432", "01 98 76 54 32", WHOLE),
        ("+33198765432", "01 98 76 54 32", None),
        ("01 23 45 67 89", "01 23 45 67 89\n01 98 76 54 32", PART),
        ("01 23 45 67", "01 23 45 67 89", None),
        ("901820", "030 901820", None),
        # Dates.
        ("2024-05-08", "2024-05-08T14:00:00Z", WHOLE),
        ("2024-05-08", "on 8th May, 2024 and later", PART),
        ("8.5.2024", "2024-05-08", WHOLE),
        ("2024-05-08", "2024-05-18", None),
        ("2024-05-08", "INV-2024-05-08", None),
        ("2024-05-08", "2024 05 08", None),
        ("2024-05-08T14:00:00Z", "2024-05-08T16:00:00+02:00", WHOLE),
        ("2024-05-08T14:00:00Z", "2024-05-08", None),
        ("2024-05-08T14:00", "2024-05-08T14:00:59Z", WHOLE),
        ("2024-05", "since 2024-05-08", PART),
        ("2024-05", "2024-05", WHOLE),
        ("2024-05", "2024-06-05", None),
        # What is neither.
        ("½", "1⁄2", WHOLE),
        ("+4711", "+4711 0", PART),
        ("+4711", "+47110", None),
    ],
)  # fmt: skip
def test_a_text_has_an_identifier_whole_as_a_part_or_not(
    looked_up: str, text: str, expected: Extent | None
) -> None:
    assert extent(looked_up, text) is expected


def test_a_number_of_a_region_is_the_same_with_and_without_its_country() -> None:
    assert extent("030 901820", "+49 30 901820", "DE") is WHOLE
    assert extent("+49 30 901820", "Tel. 030/901820", "DE") is PART
    assert extent("+49 30 901820", "Tel. 030/901820", "FR") is None


@walk_over(
    "text",
    ["Ada", "2026", "what is it", "the 600 mm mirror", "iPhone 15", "16GB 512GB", "Q3 2026", "B2B B2C 2024",
     "Q1 2024 Q2 2024", "2023 2024", "", " ", "()", "10:30 today"],
)  # fmt: skip
def test_words_are_no_identifier(text: str) -> None:
    assert written_identifiers.sought(text) is None


CODES = st.from_regex(r"[A-Z]{2,4}-[0-9]{3,5}(-[0-9A-Z]{1,3})?", fullmatch=True)
JOINED = st.sampled_from(["1", "A", "-1", "-B", ".2", "/3", "_x", "0-0", "@x.org"])


@examples(50)
@given(code=CODES, before=st.sampled_from(["", "pay ", "(", "No. ", "- ", "x, "]), joined=JOINED)
def test_a_code_is_found_between_blanks_and_never_within_another_one(
    code: str, before: str, joined: str
) -> None:
    assert extent(code, f"{before}{code}, please") is PART
    assert extent(code, f"{before}{code}{joined} please") is None
    assert extent(code, f"please {joined[::-1]}{code}") is None


WRITTEN = st.from_regex(r"[a-zA-Z0-9][a-zA-Z0-9 ./@:-]{0,20}[a-zA-Z0-9]", fullmatch=True)


@examples(100)
@given(looked_up=WRITTEN, text=st.text(max_size=200) | WRITTEN)
def test_an_identifier_is_all_of_itself_and_any_text_is_compared_with_it(looked_up: str, text: str) -> None:
    if written_identifiers.sought(looked_up) is not None:
        assert extent(looked_up, looked_up) is WHOLE
        extent(looked_up, text)
        extent(looked_up, f"{looked_up} {text} {looked_up}")


@pytest.mark.parametrize(
    "unit",
    ["1234567 ", "1 ", "a_", "1-", "x@", "+1 (", "https://x.y/(", "a1 ", "a123 " * 500 + "b1 "],
)  # fmt: skip
def test_a_long_text_takes_no_time_that_grows_with_its_square(unit: str) -> None:
    few = unit * (6_000 // len(unit))
    many = few * 2
    for looked_up in ("INV-2024-001", "01 23 45 67 32", "ada@example.org", "2024-05-08", unit.strip() + "7"):
        sought = written_identifiers.sought(looked_up)
        if sought is not None:
            assert lines_run(sought.extent_in, many) <= 2.6 * lines_run(sought.extent_in, few) + 100
