"""What is asked of values: quantities with their units, the most, the least, sums and means."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from graphmem.search.kinds import measures
from graphmem.search.kinds.measures import Quantity
from graphmem.search.questions import mentions
from graphmem.search.questions.phrases import Measure
from graphmem.search.questions.reading import Reading
from tests.support.walks import walk_over


@walk_over(
    "value, text",
    [
        ("4.820,00 EUR", "4820 EUR"), ("1,284.50 USD", "1284.5 USD"), ("$79", "79 USD"), ("€ 960", "960 EUR"),
        ("2.300 EUR", "2300 EUR"), ("2.3 kg", "2.3 kg"), ("184000 km", "184000 km"), (12, "12"),
        ("1.234.567 km", "1234567 km"), ("1,5 kg", "1.5 kg"),
    ],
)  # fmt: skip
def test_a_quantity_has_a_number_and_a_unit(value: Any, text: str) -> None:
    quantity = measures.quantity("amount", {"amount": value})
    assert quantity is not None
    assert quantity.text == text


@pytest.mark.parametrize("value", ["Room 12 b 4", "open", None, True, ["3"], "", "1.2,3.4"])
def test_other_values_are_no_quantity(value: Any) -> None:
    assert measures.quantity("amount", {"amount": value}) is None


def test_the_unit_may_stand_in_a_field_of_its_own() -> None:
    assert measures.quantity("amount", {"amount": 5, "currency": "euro"}) == Quantity(Decimal(5), "EUR")


def test_only_quantities_of_one_unit_are_compared_and_sums_are_by_unit() -> None:
    quantities = {
        name: Quantity(Decimal(number), unit)
        for name, number, unit in (("a", 5, "EUR"), ("b", 900, "USD"), ("c", 7, "EUR"))
    }
    assert measures.extremes(Measure("max", "amount", "largest"), quantities) == ["c", "a"]
    sums = measures.totals(Measure("sum", "", "total"), quantities.values())
    assert [each.text for each in sums] == ["12 EUR", "900 USD"]
    means = measures.totals(Measure("average", "", "mean"), quantities.values())
    assert [each.text for each in means] == ["6 EUR", "900 USD"]


def test_the_field_is_the_one_that_words_name_or_else_the_measure() -> None:
    fields, largest = ["amount", "mileage", "name"], Measure("max", "amount", "")
    assert measures.measured(largest, fields, (), ["mileage"]) == ("mileage", {"mileage"})
    assert measures.measured(largest, fields, (), []) == ("amount", frozenset())
    assert measures.measured(Measure("max", "weight", ""), fields, (), []) is None


@walk_over(
    "question, how, about, most",
    [
        ("the largest unpaid invoice", "max", "amount", 1), ("cheapest invoice", "min", "price", 1),
        ("the two oldest invoices", "min", "time", 2), ("Which invoice is the largest?", "max", "amount", 1),
        ("la plus grande facture impayée", "max", "amount", 1), ("la factura más grande", "max", "amount", 1),
        ("die größte Rechnung", "max", "amount", 1), ("a maior fatura", "max", "amount", 1),
        ("la fattura più grande", "max", "amount", 1), ("sum of the invoices", "sum", "", 1),
        ("How much are the unpaid invoices?", "sum", "", 1), ("average amount of invoices", "average", "", 1),
    ],
)  # fmt: skip
def test_words_ask_for_a_measure_of_a_kind(question: str, how: str, about: str, most: int) -> None:
    (phrase,) = Reading(mentions.names_in(question), ["invoice"], {}, 0).kinds()
    assert phrase.measure is not None
    assert (phrase.measure.how, phrase.measure.about, phrase.measure.most) == (how, about, most)


@walk_over(
    "question, debts",
    [
        ("What do I still owe?", "ours"), ("Who owes us money?", "theirs"),
        ("What does Acme owe me?", "theirs"),
        ("Wer schuldet uns Geld?", "theirs"), ("Qui nous doit de l'argent ?", "theirs"),
        ("¿Quién nos debe dinero?", "theirs"), ("Chi ci deve dei soldi?", "theirs"),
        ("Quem nos deve dinheiro?", "theirs"), ("What do we owe Acme?", "ours"),
        ("Was schulde ich noch?", "ours"),
    ],
)  # fmt: skip
def test_words_say_who_owes_whom(question: str, debts: str) -> None:
    phrase = Reading(mentions.names_in(question), ["invoice"], {}, 0).agenda()
    assert phrase is not None
    assert phrase.debts == debts


@walk_over(
    "question, first",
    [
        ("the second largest invoice", 2), ("our third cheapest invoice", 3), ("die zweitgrößte Rechnung", 2),
        ("la segunda factura más grande", 2), ("the largest invoice", 1),
        ("la seconda fattura più grande", 2),
    ],
)  # fmt: skip
def test_words_say_the_place_of_what_is_asked_for(question: str, first: int) -> None:
    (phrase,) = Reading(mentions.names_in(question), ["invoice"], {}, 0).kinds()
    assert phrase.measure is not None
    assert phrase.measure.first == first


@walk_over(
    "question, words, is_more, text",
    [
        ("invoices over 2000 EUR", "over 2000 EUR", True, "2000 EUR"),
        ("unpaid invoices of more than 1.500,00 EUR", "more than 1.500,00 EUR", True, "1500 EUR"),
        ("Rechnungen unter 300 €", "unter 300 €", False, "300 EUR"),
        ("facturas de menos de 700 euros", "menos de 700 euros", False, "700 EUR"),
        ("factures de plus de 80 EUR", "plus de 80 EUR", True, "80 EUR"),
    ],
)
def test_words_limit_a_quantity(question: str, words: str, is_more: bool, text: str) -> None:
    (phrase,) = Reading(mentions.names_in(question), ["invoice"], {}, 0).kinds()
    (limit,) = phrase.limits
    assert (limit.words, limit.is_more, limit.quantity.text) == (words, is_more, text)
    assert phrase.measure is None


def test_a_year_limits_no_quantity() -> None:
    phrases = Reading(mentions.names_in("invoices over 2000"), ["invoice"], {}, 0).kinds()
    assert not any(phrase.limits for phrase in phrases)
