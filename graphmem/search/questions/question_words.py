"""The words of a question: which of them say what is wanted, and which words are forms of one word.

A question has a word such as boss, employer or owner where a relationship has another: "Tom's boss" is whom
Tom reports to.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal, cast

from rapidfuzz.distance import Prefix

from graphmem.model.identity import PEOPLE
from graphmem.model.shipped_relationships import (
    BUILTIN,
    MEANINGS,
    ROLES,
    SOURCE_ROLE,
    TARGET_ROLE,
    RelationshipKind,
)
from graphmem.search.questions import lexicon
from graphmem.text import languages

AnswerKind = Literal["person", "place", "time"]  # what a question asks for by its question word

WORDS_LIMIT: Final = 32  # words of a question that say what is wanted, at most: the first ones
STEM_LETTERS: Final = 4  # a word of at least this many letters matches the words that begin with it
_ENDINGS: Final = {"", *lexicon.words("endings")}
"""English endings: two words with the same beginning are forms of one word if both rests are among these."""
_SHORT_ENDINGS: Final = {"", *lexicon.words("short_endings")}
"""The endings that count after three letters: with the others, card and cars would be one word."""
_LONGEST_ENDING: Final = max(map(len, _ENDINGS | _SHORT_ENDINGS))
EMPTY: Final = lexicon.words("empty")  # English words that say nothing about what is wanted
FORMER: Final = lexicon.words("former")  # words that ask for what has ended, too
_ANSWER_KINDS: Final[dict[str, AnswerKind]] = cast("dict[str, AnswerKind]", lexicon.meanings("wanted"))
ASKING_IN: Final = lexicon.by_language("wanted")
ASKING: Final = frozenset(_ANSWER_KINDS)
"""The words that ask for a person, a place or a time, in all languages."""
PERSONS: Final = PEOPLE | lexicon.words("types_of_people")  # entity types of people
ORGANISATIONS: Final = lexicon.words("types_of_organisations")
PLACES: Final = lexicon.words("fields_of_places")  # words of fields and relationship types that name a place


def content_words(
    words: Iterable[str], names: Collection[str] = (), language: str | None = None
) -> frozenset[str]:
    """Return the words of a question that say what is wanted of what it names, without its names.
    ``language`` is that of the question (ISO 639-1), where it can be told."""
    every = list(dict.fromkeys(words))
    empty = {*EMPTY, *_ANSWER_KINDS, *languages.stop_words().get(language or "", ())}
    telling = [word for word in every if word not in empty] or every
    return frozenset([word for word in telling if word not in names][:WORDS_LIMIT])


def answer_kinds(words: Iterable[str]) -> frozenset[AnswerKind]:
    return frozenset(_ANSWER_KINDS[word] for word in words if word in _ANSWER_KINDS)


@lru_cache(maxsize=65_536)
def is_same(word: str, other: str) -> bool:
    """Return whether two words are forms of one word: equal, one begins with the other, or endings differ."""
    if word == other:
        return True
    shorter, longer = sorted((word, other), key=len)
    if len(shorter) >= STEM_LETTERS and longer.startswith(shorter):
        return True
    first_end = max(STEM_LETTERS - 1, len(longer) - _LONGEST_ENDING)
    return any(
        word[end:] in endings and other[end:] in endings
        for end in range(Prefix.similarity(word, other), first_end - 1, -1)
        for endings in [_ENDINGS if end >= STEM_LETTERS else _SHORT_ENDINGS]
    )


def beginning(word: str) -> str:
    for end in range(max(STEM_LETTERS - 1, len(word) - _LONGEST_ENDING), len(word)):
        if word[end:] in (_ENDINGS if end >= STEM_LETTERS else _SHORT_ENDINGS):
            return word[:end]
    return word


def first_letters(word: str) -> str:
    """Return the letters that all forms of a word have."""
    return word[: STEM_LETTERS - 1]


def shared(question_words: Collection[str], words: Collection[str]) -> int:
    """Return how many words of a question are forms of some other words."""
    beginnings = {first_letters(word) for word in question_words}
    near = [other for other in words if first_letters(other) in beginnings]
    return sum(word in words or any(is_same(word, other) for other in near) for word in question_words)


_WORDS: Final[dict[str, frozenset[tuple[str, str]]]] = {
    word: frozenset(key for key, words in ROLES.items() if word in words)
    for word in {word for words in ROLES.values() for word in words}
}
"""For a word for the entity at the other end of relationships: their types, each with its direction."""
_WORDS.update({
    f"ex_{word}": keys | {("DIVORCED_FROM", "outgoing"), ("DIVORCED_FROM", "incoming")}
    for word, keys in list(_WORDS.items())
    if any(name == "MARRIED_TO" for name, _ in keys)
})  # fmt: skip
LABELS: Final[Mapping[str, frozenset[str]]] = lexicon.synonyms("labels_asked", "kinds", "kinds_singular")
"""For a word of a question, the words of types and of names of fields that it asks for besides itself."""


def labels(words: Iterable[str]) -> set[str]:
    """Return the words of types and of fields' names that some words ask for: birth for "birthday"."""
    return {label for word in words for label in LABELS.get(word, ())}


_ASKED_BY: Final[Mapping[str, frozenset[str]]] = {
    label: frozenset(word for word, labels in LABELS.items() if label in labels)
    for label in frozenset[str]().union(*LABELS.values())
}
FIELD_WORDS: Final = lexicon.words("attributes") | LABELS.keys() | _ASKED_BY.keys()
"""Words that ask for a field."""


def asked_by(labels: Iterable[str]) -> list[str]:
    """Return the words of questions that ask for some words of a type or of a field's name, besides them."""
    return [word for label in labels for word in _ASKED_BY.get(label, ())]


_PLURALS: Final = lexicon.meanings("role_plurals")
_VERBS: Final = lexicon.meanings("verbs")  # verbs of relationships in other languages than English
_KINDS: Final = lexicon.words("roles_that_are_kinds")
_SAME_ROLES: Final = lexicon.meanings("same_roles")
_IS_NO_VERB: Final = lexicon.words("no_verb")  # words of relationship types that say nothing of their own
_PASSIVE: Final = re.compile(r"[A-Z0-9_]+_BY")
_OF: Final = re.compile(r"[A-Z0-9_]+_OF")


def _role(word: str) -> str:
    forms = (word, of_plural(word, _PLURALS), word.removesuffix("s"), word.removesuffix("es"))
    return next((each for each in forms if each in _WORDS), word)


def of_plural(word: str, meanings: Mapping[str, str]) -> str:
    """Return what a word means, or means without the ending of a plural or a genitive; empty if nothing."""
    forms = (word, word.removesuffix("s"), word.removesuffix("es"))
    return next((meanings[each] for each in forms if each in meanings), "")


def says_role(word: str, *, no_kind: bool = False, with_types: bool = False) -> bool:
    """Return whether a word is one for the entity at the other end of some relationship.

    Args:
        no_kind: words of types of things do not count: "Ada's pets" asks for all pets of Ada.
        with_types: words of types of relationships count as well, such as "work".
    """
    role = _role(word)
    is_known = role in _WORDS or ("_" in word and said_kind(word) is not None)
    is_known = is_known or (with_types and any(_says_type(word, name) for name in BUILTIN))
    return is_known and not (no_kind and role in _KINDS)


@dataclass(frozen=True, slots=True)
class FollowedRole:
    """The types of relationships that words ask for, from what is named and to it, and these words."""

    outgoing: set[str] = field(default_factory=set)
    incoming: set[str] = field(default_factory=set)
    words: dict[str, None] = field(default_factory=dict)

    @property
    def types(self) -> tuple[set[str], set[str]]:
        return self.outgoing, self.incoming


def said_kind(word: str) -> str | None:
    """Return the usual word for what a word says beside a type: a sister is more than a sibling."""
    role = _role(word.replace(" ", "_"))
    meaning = MEANINGS.get(f"{role.upper()}_OF")
    says_more = meaning is not None and {*meaning.metadata} & {SOURCE_ROLE, TARGET_ROLE}
    return _SAME_ROLES.get(role, role) if says_more else None


def role_of(word: str) -> FollowedRole:
    """Return the relationships at whose other end a word is."""
    keys = _WORDS.get(_role(word), frozenset())
    if not keys and said_kind(word):
        name = MEANINGS[f"{word.upper()}_OF"].name
        keys = {(name, "outgoing"), (name, "incoming")}
    outgoing, incoming = (
        {name for name, direction in keys if direction == way} for way in ("outgoing", "incoming")
    )
    return FollowedRole(outgoing, incoming, {word: None, _role(word): None})


def followed(
    words: Sequence[str],
    nouns: Collection[int],
    named: Iterable[tuple[int, int]],
    types: Mapping[str, RelationshipKind],
) -> FollowedRole:
    """Return the relationships that a question asks for, by their roles or by the words of their types.

    "Who reports to Tom" asks for those who do, "who does Tom report to" for the one at the other end.

    Args:
        words: of the question, in their order; empty where something is no single word.
        nouns: the places of words that are nouns for sure: "report" is one in "Tom's report".
        named: where names begin and end; a name has at least one word.
        types: the relationship types that are known, by the names that may be said.
    """
    spans, answer = list(named), FollowedRole()
    if not spans:
        return answer
    used_places = {place for start, end in spans for place in range(start, end)}
    # "When was Tom born" asks for a day of Tom, not for the place.
    asks_time = answer_kinds(words) == {"time"}
    for place, word in enumerate(words):
        if not word or place in used_places:
            continue
        roles_of_word = _WORDS.get(_role(word), ())
        verb = _VERBS.get(word)
        verbs = [
            (kind.name, direction)
            for kind in ([] if asks_time else _said_by(verb or word, types, words[place + 1 :]))
            for direction in (
                # In other languages the verb may stand before its subject.
                ("outgoing", "incoming") if verb else
                _directions(kind, place < min(spans)[0], words[place + 1 : place + 2] == ["by"])
            )
        ]  # fmt: skip
        for name, direction in (roles_of_word or verbs) if place in nouns else (verbs or roles_of_word):
            (answer.outgoing if direction == "outgoing" else answer.incoming).add(name)
            answer.words[word] = None
    return answer


def _said_by(
    word: str, types: Mapping[str, RelationshipKind], following: Collection[str]
) -> list[RelationshipKind]:
    """Return the types that a word says; the words after it decide between "work at" and "work on"."""
    kinds = {
        name: kind
        for name, kind in types.items()
        # "Play chess with" is not "plays tennis with".
        if _says_type(word, name) and (not kind.is_own or all(
            any(other and is_same(other, each) for other in following) for each in _telling(name)[1:]
        ))
    }  # fmt: skip
    decided = [kind for name, kind in kinds.items() if name.rpartition("_")[2].lower() in following]
    if len(kinds) < 2 or decided:
        return decided or [*kinds.values()]
    return [kind for name, kind in kinds.items() if not name.endswith("_ON")] or [*kinds.values()]


def _says_type(word: str, relationship_type: str) -> bool:
    telling = _telling(relationship_type)
    return len(word) > 2 and word not in EMPTY and bool(telling) and is_same(word, telling[0])


def _telling(relationship_type: str) -> list[str]:
    """Return the words of a type that say something of their own."""
    return [each for each in relationship_type.lower().split("_") if each not in _IS_NO_VERB]


def _directions(kind: RelationshipKind, is_before: bool, is_passive: bool) -> tuple[str, ...]:
    """Return the directions from a name that a word of a type, before the name or before "by", means."""
    if kind.inverse == kind.name:
        return ("outgoing", "incoming")
    if _OF.fullmatch(kind.name):
        return ("incoming",)
    is_incoming = is_before != (is_passive != bool(_PASSIVE.fullmatch(kind.name)))
    return ("incoming",) if is_incoming else ("outgoing",)
