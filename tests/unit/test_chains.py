"""Chains of relationships in the words of a question."""

from __future__ import annotations

import pytest

from graphmem.search.questions import chains, mentions, naming
from graphmem.search.questions.chains import Chain
from graphmem.search.questions.naming import Named
from tests.support.walks import walk_over

NAMES = ("Edda", "Kalle Berg")


def read(question: str) -> Chain | None:
    names = mentions.names_in(question)
    texts = [piece.text for piece in names.pieces]
    named = [
        Named(name, 0, name, place, place + len(name.split()))
        for name in NAMES
        for place in range(len(texts))
        if texts[place : place + len(name.split())] == name.split()
    ]
    return chains.longest_chain(names, [*named, *naming.selves(names, names.selves, "me")])


@walk_over(
    "question, base, steps, has_more",
    [
        ("Who is the owner of Edda's company?", "Edda", ("company", "owner"), False),
        ("the boss of the owner of Kalle Berg", "Kalle Berg", ("owner", "boss"), False),
        ("Edda's employer's owner", "Edda", ("employer", "owner"), False),
        ("my boss's employer", "me", ("boss", "employer"), False),
        ("owner of my company", "me", ("company", "owner"), False),
        ("What is the phone number of Edda's boss?", "Edda", ("boss",), True),
        ("Kalle Berg's boss's birthday", "Kalle Berg", ("boss",), True),
        ("a list of Edda's employees", "Edda", ("employees",), True),
        ("the address of Edda's boss", "Edda", ("boss", "address"), False),
        ("Who is Edda's boss?", "Edda", ("boss",), False),
        ("Where does Edda's boss live?", "Edda", ("boss",), True),
        ("Who does my sister report to?", "me", ("sister",), True),
        ("How old is the son of Kalle Berg?", "Kalle Berg", ("son",), True),
        ("Does Edda's boss like robots?", "Edda", ("boss",), False),
        ("Is Kalle Berg my boss?", "me", ("boss",), False),
        ("Edda's former boss", "Edda", ("boss",), False),
        ("Chef der Besitzerin von Edda", "Edda", ("besitzerin", "chef"), False),
        ("Telefonnummer meiner Chefin", "me", ("chefin",), True),
        ("la esposa de mi vecino", "me", ("vecino", "esposa"), False),
        ("my mother-in-law's dentist", "me", ("mother_in_law", "dentist"), False),
        ("Chef der Schwester von Edda", "Edda", ("schwester", "chef"), False),
        ("le mari de la soeur de Kalle Berg", "Kalle Berg", ("soeur", "mari"), False),
        ("owner of the employer of the boss of Edda", "Edda", ("boss", "employer", "owner"), False),
    ],
)
def test_a_chain_leads_from_a_name_over_nouns(
    question: str, base: str, steps: tuple[str, ...], has_more: bool
) -> None:
    chain = read(question)
    assert chain is not None
    assert (chain.steps, chain.has_more) == (steps, has_more)
    texts = [piece.text for piece in mentions.names_in(question).pieces[chain.start : chain.end]]
    assert " ".join(texts) == base or base == "me"


@walk_over(
    "question",
    [
        "Edda", "What does Edda own?", "Edda's phone", "my phone",
        "Who do I report to?", "Who owes me money?",
        "the city of Edda", "Edda's history", "the boss, Edda", "the owner met Edda",
    ],
)  # fmt: skip
def test_other_words_beside_a_name_are_no_chain(question: str) -> None:
    assert read(question) is None


def test_a_name_that_begins_with_my_is_no_chain() -> None:
    names = mentions.names_in("My Brother's House")
    me, house = naming.selves(names, names.selves, "me"), Named("house", 0, "My Brother's House", 0, 3)
    assert chains.longest_chain(names, me) is not None
    assert chains.longest_chain(names, [house, *me]) is None


@pytest.mark.parametrize(
    ("question", "decides"),
    [
        ("the owner of Edda's company", True), ("phone of Edda's boss", True), ("Edda's boss", False),
        ("the size of Edda's report", False), ("the end of Edda's work", False),
    ],
)  # fmt: skip
def test_what_is_at_the_end_alone_is_meant_where_no_word_has_another_meaning(
    question: str, decides: bool
) -> None:
    chain = read(question)
    assert chain is not None
    assert chain.decides is decides


@walk_over(
    "question, words",
    [
        ("Where do I live?", ["I"]), ("I'm at home", ["I'm"]), ("my dog and me", ["my", "me"]),
        ("wo wohne ich", ["ich"]), ("der Hund meiner Chefin", ["meiner"]), ("mi jefe", ["mi"]),
        ("mon chef", ["mon"]), ("show me the invoices", []), ("Can you tell me more?", []),
        ("find my keys", ["my"]),
        ("Who called me?", ["me"]), ("zeig mir alle Rechnungen", []), ("Emmy and Ian", []),
    ],
)  # fmt: skip
def test_words_mean_who_asks(question: str, words: list[str]) -> None:
    names = mentions.names_in(question)
    assert [names.spellings[place].rstrip("?") for place in names.selves] == words
