"""Names in questions: runs of words that may be names, parts of names, and what is asked of them."""

from __future__ import annotations

import pytest

from graphmem.matching import mentions, relationship_roles
from graphmem.model.relationship import BUILTIN, RelationshipType
from graphmem.text import identifiers

NAMES = {
    "ada", "anne", "ek", "jane", "lovelace", "marie", "priya", "may", "rose", "smith", "tom", "will",
}  # fmt: skip


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("Where does Ada Lovelace work?", "Ada Lovelace"),
        ('Is "The Analytical Engine" Ada\'s?', "The Analytical Engine"),
        ("Is it Ada's?", "Ada"),
        ("Is it James' car?", "James"),
        ("mail ada@example.org.", "ada@example.org"),
        ("Who has +44 20 7946 0018?", "+44 20 7946 0018"),
        ("東京 weather", "東京"),
    ],
)
def test_names_are_looked_up_inside_a_question(question: str, named: str) -> None:
    kinds = ("email",) if "@" in named else ("phone",) if "+" in named else ("name",)
    wanted = {pair for pair in identifiers.candidates(named) if pair[0] in kinds}
    assert wanted <= mentions.read(question).pairs


def test_what_cannot_be_a_name_is_not_looked_up() -> None:
    pairs = mentions.read("What is the 1 of A?").pairs
    assert not {("name", "what is"), ("name", "the"), ("external_id", "1")} & pairs
    assert ("name", "the 1") in pairs
    assert len(mentions.read("word " * 10_000).pairs) < 1_000


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Tom", ["tom"]),
        ("What is Priya's phone number?", ["priya"]),
        ("what is priya's phone number", ["priya"]),
        ("tom phone", ["tom"]),
        ("lovelace ada", ["lovelace ada"]),
        ("Smith, Jane", ["smith", "jane"]),
        ("Does Tom know Priya?", ["tom", "priya"]),
        ("Call Tom", ["tom"]),
        ("Summarize Tom's projects", ["tom"]),
        ("summarize tom's projects", ["tom"]),
        ("Compare Tom and Priya", ["tom", "priya"]),
        ("Hey Tom's phone?", ["tom"]),
        ("What's new? Remind Tom of it", ["tom"]),
        ("what's tom's phone number", ["tom"]),
        # Titles and hyphens.
        ("What is Mr Smith's phone number?", ["smith"]),
        ("What is Dr. Smith's phone?", ["smith"]),
        ("What is Anne-Marie's phone number?", ["anne marie"]),
        ("anne-marie smith", ["anne marie smith"]),
        ("Anne-Sophie", []),
        # Stop words, months.
        ("Will", ["will"]),
        ("What is Will's phone number?", ["will"]),
        ("will's phone number", ["will"]),
        ("Where does Will work?", ["will"]),
        ("Ada, Will and May", ["ada", "will", "may"]),
        ("Who is May's boss?", ["may"]),
        ("Is there a letter from May?", ["may"]),
        ("What will Ada do? Will it rain?", ["ada"]),
        ("Will Ada's boat sink?", ["ada"]),
        ("What happened on 8 May 2023?", []),
        ("May 8", []),
        ("When do we meet in May?", []),
        # Somebody else's name.
        ("Tom Smithers", []),
        ("tom smithers", []),
        ("Did Barack Ek call?", []),
        # Words as any.
        ("rose garden notes", []),
        ("Where is the rose of Acme?", []),
        ("What will the boss do?", []),
    ],
)
def test_words_of_a_question_are_parts_of_names(question: str, parts: list[str]) -> None:
    assert [" ".join(part.words) for part in mentions.read(question).parts(NAMES)] == parts


def test_words_of_a_whole_name_are_no_parts_of_another() -> None:
    question = mentions.read("Is Tom Ek here?")
    (run,) = [run for run in question.runs if run.text == "Tom Ek"]
    assert question.parts(NAMES, [run]) == []


@pytest.mark.parametrize(
    ("question", "outgoing", "incoming"),
    [
        ("Who is Tom's boss?", {"REPORTS_TO"}, {"MANAGES"}),
        ("boss of tom", {"REPORTS_TO"}, {"MANAGES"}),
        ("Who does Tom report to?", {"REPORTS_TO"}, set()),
        ("Who reports to Tom?", set(), {"REPORTS_TO"}),
        ("Tom's reports", {"MANAGES"}, {"REPORTS_TO"}),
        ("Who manages Tom?", set(), {"MANAGES"}),
        ("Who is managed by Tom?", {"MANAGES"}, set()),
        ("Who was Tom acquired by?", {"ACQUIRED_BY"}, set()),
        ("Who acquired Tom?", {"ACQUIRED_BY"}, set()),
        ("Who is the CEO of Tom?", set(), {"CEO_OF"}),
        ("Who is Tom's CEO?", set(), {"CEO_OF"}),
        ("What is Tom's phone number?", set(), set()),
        ("Tom", set(), set()),
    ],
)
def test_a_question_asks_for_relationships(question: str, outgoing: set[str], incoming: set[str]) -> None:
    read = mentions.read(question)
    (part,) = read.parts(NAMES)
    types = (*BUILTIN.values(), RelationshipType("CEO_OF"))
    tokens = [piece.token for piece in read.pieces]
    followed = relationship_roles.followed(tokens, read.nouns, [(part.start, part.end)], types)
    assert (followed.outgoing, followed.incoming) == (outgoing, incoming)
