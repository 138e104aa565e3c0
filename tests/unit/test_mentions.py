"""Names in questions: runs of words that may be names, parts of names, and what is asked of them."""

from __future__ import annotations

import pytest

from graphmem.model.relationship import BUILTIN, RelationshipKind
from graphmem.search.questions import mentions, question_words
from graphmem.text import identifiers
from tests.support.walks import walk_over

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
    assert wanted <= mentions.names_in(question).pairs


def test_what_cannot_be_a_name_is_not_looked_up() -> None:
    pairs = mentions.names_in("What is the 1 of A?").pairs
    assert not {("name", "what is"), ("name", "the"), ("external_id", "1")} & pairs
    assert ("name", "the 1") in pairs
    assert len(mentions.names_in("word " * 10_000).pairs) < 1_000


@walk_over(
    "question, parts",
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
        # A title calls nobody, and what is behind it is the name: Hofer is nobody here.
        ("phone of Dr. Hofer", []),
        ("phone of Dr Hofer", []),
        ("Dr.", []),
        ("Is the Dr. here?", []),
        ("phone of Prof. Dr. Smith", ["smith"]),
        ("Telefon von Frau Smith", ["smith"]),
        ("Wo wohnt Herr Dr. Hofer?", []),
        ("Quel est le téléphone de M. Smith ?", ["smith"]),
        ("teléfono de la Sra. Smith", ["smith"]),
        ("telefono della Dott.ssa Smith", ["smith"]),
        ("telefoon van dhr. Smith", ["smith"]),
        ("Tom Dr. Hofer", ["tom"]),
        # Initials: another word of the name begins so (see the initials below).
        ("phone of Ada B. Weber", []),
        ("phone of Ada B. Lovelace", ["ada lovelace"]),
        ("J. Smith's phone", ["smith"]),
        ("J.R. Smith's phone", ["smith"]),
        ("Does Ada know J. Hofer?", ["ada"]),
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
    assert [" ".join(part.words) for part in mentions.names_in(question).parts(NAMES)] == parts


@pytest.mark.parametrize(
    ("question", "initials"),
    [
        ("phone of J. Smith", ("j",)),
        ("phone of J.R.R. Smith", ("j", "r", "r")),
        ("ada b lovelace", ("b",)),
        ("Ada B Lovelace's phone", ("b",)),
        ("ada y tom", ()),
        ("Tom S.'s phone", ("s",)),
        ("Does Smith have a plan B?", ()),
        ("Where did I put Smith's keys?", ()),
    ],
)
def test_initials_beside_a_part_of_a_name_belong_to_it(question: str, initials: tuple[str, ...]) -> None:
    assert mentions.names_in(question).parts(NAMES)[0].initials == initials


def test_words_of_a_whole_name_are_no_parts_of_another() -> None:
    question = mentions.names_in("Is Tom Ek here?")
    (run,) = [run for run in question.runs if run.text == "Tom Ek"]
    assert question.parts(NAMES, range(run.start, run.end)) == []


@walk_over(
    "question, identifiers_in_it",
    [
        ("Who is ada@example.org?", ["ada@example.org"]),
        ("mailto:ada@example.org, please", ["ada@example.org"]),
        ("what is ent_0123456789abcdef01234567", ["ent_0123456789abcdef01234567"]),
        ("Who owns https://acme.example/jobs?", ["https://acme.example/jobs"]),
        ("Status of INV-2024-999?", ["INV-2024-999"]),
        ("Is it (inv-2024-999)?", ["inv-2024-999"]),
        ("Compare ORD-77 with ORD-78.", ["ORD-77", "ORD-78"]),
        ("Order 4711", ["4711"]),
        ("ticket #4711: open?", ["#4711"]),
        ("invoice number 471", ["471"]),
        ("who is 47110815", ["47110815"]),
        ("ISBN 978-3-16-148410-0", ["978-3-16-148410-0"]),
        ("Who has +44 20 7946 0019?", ["+44 20 7946 0019"]),
        ("Who has +44 (20) 7946-0019 or 030 901820?", ["+44 20 7946-0019", "030 901820"]),
        ("Who has 01 23 45 67 32?", ["01 23 45 67 32"]),
        ("Whose is DE89 3704 0044 0532 0130 01, and why?", ["DE89 3704 0044 0532 0130 01"]),
        ("IBAN FR14 2004 1010 0505 0001 3M02 606", ["FR14 2004 1010 0505 0001 3M02 606"]),
        ("paid by 4111 1111 1111 1112", ["4111 1111 1111 1112"]),
        ("parcel 1Z999AA10123456784", ["1Z999AA10123456784"]),
        # Dates, times, years.
        ("What happened on 2024-05-08?", []),
        ("on 8 May 2024 at 10:30", []),
        ("08.05.2024 or 2024/05/08, 2024-05-08T14:00:00Z", []),
        ("from 2023 to 2024, 2023-2024, 2023/24", []),
        ("the 2024 budget, budget-2024, order 2024", []),
        ("the 1990s, Q3, Q3-2024, H1 2024", []),
        # Amounts, sizes, quantities.
        ("3 bedrooms", []),
        ("room 12", []),
        ("the 600 mm mirror, 5km, 16GB 512GB, 1080p", []),
        ("more than 120000 people, 1500000 euros, 120,000.50, 10 000 000", []),
        ("$4,711 and 50% of €1500, 24/7, 16:9, 1/2", []),
        ("4711 chairs, order 12, chapter 300", []),
        ("version 3.12.1, v1.2.3, 1st, 21st", []),
        # Names.
        ("iPhone 15, GPT-4, covid-19, COVID-19, UTF-16, MP3, WD-40, AK-47, H1N1, B-52, R2-D2", []),
        ("who is Henry 8th", []),
    ],
)
def test_identifiers_in_a_question_mean_themselves(question: str, identifiers_in_it: list[str]) -> None:
    assert [each.text for each in mentions.names_in(question).asked_identifiers] == identifiers_in_it


def test_an_identifier_that_is_named_is_known() -> None:
    question = mentions.names_in("Has Tom paid ORD-77 or ORD-78?")
    assert question.unknown_identifier() == "ORD-77"
    assert question.unknown_identifier([(1, 2), (3, 4)]) == "ORD-78"
    assert question.unknown_identifier([(0, 6)]) is None


def test_a_long_identifier_is_looked_up_whole() -> None:
    iban = "FR14 2004 1010 0505 0001 3M02 606"
    assert ("external_id", iban.lower()) in mentions.names_in(f"Whose is {iban}?").pairs


@walk_over(
    "question, outgoing, incoming",
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
        ("Who is Tom married to?", {"MARRIED_TO"}, {"MARRIED_TO"}),
        ("Tom's sister", {"SIBLING_OF"}, {"SIBLING_OF"}),
        ("Who are Tom's grandchildren?", {"GRANDPARENT_OF"}, set()),
        ("Who is Tom's mother?", set(), {"PARENT_OF"}),
        ("Where does Tom live?", {"LIVES_IN", "LOCATED_AT"}, set()),
        ("Where was Tom born?", {"BORN_IN", "LOCATED_AT"}, set()),
        ("When was Tom born?", set(), set()),
        ("Where does Tom work?", {"WORKS_AT", "LOCATED_AT"}, set()),
        ("What does Tom work on?", {"WORKS_ON"}, set()),
        ("Who teaches Tom?", set(), {"TEACHES"}),
        ("Who is Tom's dentist?", set(), {"TREATS"}),
        ("What is Tom's phone number?", set(), set()),
        ("Tom", set(), set()),
    ],
)
def test_a_question_asks_for_relationships(question: str, outgoing: set[str], incoming: set[str]) -> None:
    read = mentions.names_in(question)
    (part,) = read.parts(NAMES)
    types = {**BUILTIN, "CEO_OF": RelationshipKind("CEO_OF")}
    tokens = [piece.token for piece in read.pieces]
    followed = question_words.followed(tokens, read.nouns, [(part.start, part.end)], types)
    # Other names of shipped types are asked for as well: somebody may have registered types of these names.
    assert (followed.outgoing & types.keys(), followed.incoming & types.keys()) == (outgoing, incoming)
