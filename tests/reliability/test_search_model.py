"""Search against a plain reading: random texts, corrections, deletions and queries.

Identifiers are read otherwise: tests/unit/test_written_identifiers.py.
"""

from __future__ import annotations

import contextlib
import unicodedata
import uuid
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from graphmem.context import Services
from graphmem.errors import InvalidInput, NotFound
from graphmem.search import written_identifiers
from graphmem.search.questions import mentions
from tests.support.event_loop import Loop
from tests.support.examples import examples
from tests.support.faces import Call, by_runner

WORDS = st.sampled_from([
    "ada", "Ada", "adal", "ÁDA", "lovelace", "love", "lace", "plan", "planning", "an", "café", "cafe", "2026",
    "20", "o'neil", "o", "東京", "京", "東", "タワー", "서울", "москва", "мос", "नमस्ते", "x-1", "x",
    "1", "a.b", "b",
])  # fmt: skip
BETWEEN = st.sampled_from([" ", "  ", ", ", "-", "/", " | ", "\n", "", "_"])
TEXTS = st.lists(st.tuples(WORDS, BETWEEN), min_size=1, max_size=4).map(
    lambda parts: "".join(word + between for word, between in parts).strip() or "x"
)
VALUES = TEXTS | st.lists(TEXTS, max_size=2) | st.builds(lambda text: {"k": [text]}, TEXTS) | st.just(7)
ITEMS = st.fixed_dictionaries(
    {"entity_type": st.sampled_from(["thing", "gadget"]), "note": VALUES},
    optional={"name": TEXTS, "more": VALUES, "aliases": st.lists(TEXTS, max_size=2), "email": TEXTS},
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["correct", "delete", "restore", "merge"]),
        st.integers(0, 9),
        st.integers(0, 9),
        VALUES,
    ),
    max_size=4,
)
THING = {"entity_type": "thing", "note": 1}
DENSE = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL")


# The plain reading: character by character, sharing no code with the product.


def plain(text: str) -> list[str]:
    """Return the words of a text."""
    text = unicodedata.normalize("NFKD", text.casefold())
    text = unicodedata.normalize("NFC", "".join(c for c in text if not "\u0300" <= c <= "\u036f"))
    words, current = [], ""
    for c in text:
        kind = unicodedata.category(c)
        if unicodedata.name(c, "").startswith(DENSE):
            words += [current, c]
            current = ""
        elif c == "'":
            continue
        elif kind[0] in "LNM":
            current += c
        else:
            words.append(current)
            current = ""
    return [word for word in [*words, current] if word]


def texts(value: Any) -> list[str]:
    """Return the strings in a value."""
    if isinstance(value, str):
        return [value]
    inner = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    return [text for part in inner for text in texts(part)]


def says(entity: dict[str, Any], query: str, begins: bool) -> bool:
    """Return whether an entity says every run of a query, each within one value, the last as a beginning."""
    values = [plain(text) for text in (entity["canonical_name"], *texts(entity["snapshot"]))]
    runs = [run for run in map(plain, query.split()) if run]
    if not runs:
        return False
    begins = begins and any(c.isalpha() for c in query)
    open_ended = begins and unicodedata.category(query[-1])[0] in "LNM" and len(runs[-1][-1]) >= 2
    earlier = runs[:-1]
    return all(
        any(holds(value, run, open_ended and i == len(runs) - 1 and run not in earlier) for value in values)
        for i, run in enumerate(runs)
    )


def is_words(query: str) -> bool:
    """Return whether a query neither is nor has an identifier."""
    return written_identifiers.sought(query) is None and mentions.names_in(query).unknown_identifier() is None


def holds(words: list[str], run: list[str], open_ended: bool) -> bool:
    """Return whether some words stand in a row among others."""
    for start in range(len(words) - len(run) + 1):
        part = words[start : start + len(run)]
        if part == run or (open_ended and part[:-1] == run[:-1] and part[-1].startswith(run[-1])):
            return True
    return False


def fold(text: Any) -> str:
    """Return a name as names are compared."""
    return " ".join(unicodedata.normalize("NFKC", str(text)).casefold().split())


def stands_within(texts: set[str], query: str) -> bool:
    """Return whether a run of at most six words between blanks is one of some texts."""
    parts = query.split()
    runs = (parts[start:end] for start in range(len(parts)) for end in range(start + 1, start + 7))
    around = "\"'.,;:!?()[]{}<>-"
    spelled = {text for run in runs for text in (" ".join(run), " ".join(run).strip(around))}
    return not texts.isdisjoint(map(fold, spelled))


def addresses(entity: dict[str, Any]) -> set[str]:
    """Return the e-mail address of an entity."""
    return {fold(entity["snapshot"].get("email", ""))} - {""}


def names(entity: dict[str, Any]) -> set[str]:
    """Return what an entity is called."""
    snapshot = entity["snapshot"]
    aliases = [text for text in snapshot.get("aliases", []) if isinstance(text, str)]
    return {fold(name) for name in (entity["canonical_name"], snapshot.get("name", ""), *aliases)} - {""}


def change(run: Call, ids: list[str], steps: list[Any]) -> None:
    """Correct, delete, restore and merge; what cannot be is refused, and left."""
    for step, number, into_number, value in steps:
        entity, into = ids[number % len(ids)], ids[into_number % len(ids)]
        with contextlib.suppress(InvalidInput, NotFound):
            if step == "correct":
                run("entities.correct", entity_id=entity, field="note", value=value)
            elif step == "merge":
                run("entities.merge", source_entity_id=entity, target_entity_id=into)
            else:
                run(f"entities.{step}", entity_id=entity)


@examples(10)
@given(
    items=st.lists(ITEMS, min_size=1, max_size=6),
    steps=STEPS,
    queries=st.lists(TEXTS, min_size=1, max_size=5),
)
@example(items=[{**THING, "name": "a b", "note": "b c"}], steps=[], queries=["b-c", "a-b", "b b-c"])
@example(items=[{**THING, "name": "東京タワー"}], steps=[], queries=["京タ", "東 タワー", "京東"])
@example(items=[{**THING, "name": "the one of an"}], steps=[], queries=["an", "of an", "the", "th"])
@example(items=[{**THING, "name": "ada"}], steps=[], queries=["ada ad", "ad ad", "ad", "a"])
def test_words_find_at_least_what_a_plain_reading_finds(
    loop: Loop, services: Services, items: list[dict[str, Any]], steps: list[Any], queries: list[str]
) -> None:
    """The plain reading wants all words in their forms; a search finds what has some, or other forms, too."""
    run = by_runner(loop, services, str(uuid.uuid4()))
    entities = run("store", entities=items, find_duplicates=False)["entities"]
    change(run, list(dict.fromkeys(entity["entity_id"] for entity in entities)), steps)
    listed = run("entities.query", limit=500)["entities"]
    for query in filter(is_words, [*queries, *(query[: len(query) // 2 + 1] for query in queries)]):
        explained = run("search.explain", search=query, limit=500)
        (text,) = [strategy["hits"] for strategy in explained["strategies"] if strategy["strategy"] == "text"]
        wanted = {entity["entity_id"] for entity in listed if says(entity, query, True)}
        assert {hit["entity_id"] for hit in text} >= wanted, query
        scores = [(-hit["score"], hit["entity_id"]) for hit in text]
        assert scores == sorted(scores)
        assert run("search.explain", search=query, limit=500)["entities"] == explained["entities"]


@examples(10)
@given(
    items=st.lists(ITEMS, min_size=1, max_size=6),
    steps=STEPS,
    queries=st.lists(TEXTS, min_size=1, max_size=4),
)
def test_a_look_up_finds_at_least_what_a_plain_reading_finds(
    loop: Loop, services: Services, items: list[dict[str, Any]], steps: list[Any], queries: list[str]
) -> None:
    run = by_runner(loop, services, str(uuid.uuid4()))
    entities = run("store", entities=items, find_duplicates=False)["entities"]
    change(run, list(dict.fromkeys(entity["entity_id"] for entity in entities)), steps)
    listed = run("entities.query", limit=500)["entities"]
    all_queries = [*queries, *(entity["canonical_name"].upper() for entity in listed)]
    for query in filter(is_words, all_queries):
        for kind in (None, "gadget"):
            answer = run("entities.find", identifier=query, entity_type=kind, limit=500)
            among = [entity for entity in listed if kind in (None, entity["entity_type"])]
            by_email = [
                entity for entity in among if fold(query) == fold(entity["snapshot"].get("email", ""))
            ]
            by_name = [entity for entity in among if fold(query) in names(entity)]
            by_text = [entity for entity in among if says(entity, query, False)]
            stages = {"identifier": by_email, "name": by_name, "text": by_text}
            mode = next((name for name, hits in stages.items() if hits), None)
            if answer["match_mode"] in ("name", "identifier") and mode not in ("name", "identifier"):
                # A name or an address within the query names, where nothing is called what all of it is.
                of_mode = {"name": names, "identifier": addresses}[answer["match_mode"]]
                assert all(stands_within(of_mode(each), query) for each in answer["entities"]), query
                continue
            found = {entity["entity_id"] for entity in answer["entities"]}
            wanted = {entity["entity_id"] for entity in stages[mode]} if mode else set[str]()
            if mode in ("identifier", "name"):
                assert (answer["match_mode"], found, answer["total"]) == (mode, wanted, len(wanted)), query
            elif mode == "text":
                assert found, query
                assert found >= wanted or answer["match_mode"] != "text", query
