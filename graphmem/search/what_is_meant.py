"""What a question means: a kind, or what it names, and what relationships lead to from there.

A word of a question may have one slip of the pen against a word of a name. A slip inserts, leaves out or
replaces one letter, or exchanges two. The first letter is right, so only some words are compared.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from rapidfuzz import process
from rapidfuzz.distance import OSA

from graphmem.model import canonical
from graphmem.reading.scan import rows_of
from graphmem.reading.shared_rows import snapshot_of
from graphmem.search.copy_arrays import IN_LABEL, IN_NAMES
from graphmem.search.entity_copy import SearchCopy
from graphmem.search.kinds import kind_lookup, kind_words, measures
from graphmem.search.kinds.kind_lookup import Kind
from graphmem.search.owner_copy import INLINE_DOCUMENTS
from graphmem.search.questions import asked_relationships, chains, lexicon, naming, question_words
from graphmem.search.questions.chains import Chain
from graphmem.search.questions.mentions import AskedNames
from graphmem.search.questions.naming import Asking, Named

LETTERS_LEAST: Final = 5  # letters of a word that may have a slip, and of the word that is meant
ENTITIES_LIMIT: Final = 5
"""Entities that a word with a slip names; where more have the word that is meant, it names none."""
WORDS_LIMIT: Final = 3  # unknown words of one question that are compared


def named_nearly(copy: SearchCopy, question: AskedNames) -> list[naming.Named]:
    """Return the entities whose names a question has but for a slip of the pen in one of the words.

    People and organisations are called by parts of their names. Of others, those count whose names have most
    words of the question.
    """
    near = _near_words(copy, question)
    if not near:
        return []
    called = question_words.PERSONS | question_words.ORGANISATIONS
    parts = naming.partly_named(copy, question, (), near)
    spans = {entity_id: (part.start, part.end) for entity_id, part in parts.items()}
    counts = Counter[str]()
    words = {piece.token: place for place, piece in enumerate(question.pieces) if not piece.is_stop_word}
    is_other = copy.of_types([name for name in copy.types if name not in called] or [""])
    for word, posting in zip(words, copy.postings([near.get(word, [word]) for word in words]), strict=True):
        in_names = posting.having(IN_NAMES)
        for number in in_names[is_other[in_names]].tolist():
            counts[copy.ids[number]] += 1
            if word in near:
                spans.setdefault(copy.ids[number], (words[word], words[word] + 1))
    most = max((counts[each] for each in spans), default=0)
    chosen = [
        naming.Named(each, naming.NEAR_NAME, question.name(*span), *span)
        for each, span in spans.items()
        if counts[each] in (0, most)
    ]
    return chosen if len(chosen) <= ENTITIES_LIMIT else []


def _near_words(copy: SearchCopy, question: AskedNames) -> dict[str, list[str]]:
    """Return the words that the unknown words of a question may mean, by word."""
    unknown = [
        piece.token
        for piece in question.pieces
        if piece.token.isalpha() and len(piece.token) >= LETTERS_LEAST
        if not (piece.is_stop_word or piece.is_title or piece.is_dense or _is_known(copy, piece.token))
    ]
    near = {word: _terms_near(copy, word) for word in list(dict.fromkeys(unknown))[:WORDS_LIMIT]}
    return {word: terms for word, terms in near.items() if terms}


def _is_known(copy: SearchCopy, word: str) -> bool:
    """Return whether a copy has a word, or another form of it: "upgrades", and not "kubernets"."""
    if word in copy.terms:
        return True
    forms = (form for each in {"en", *copy.languages} for form in copy.terms.inflections(each, word))
    return any(
        form.startswith(word) or word.startswith(form) or OSA.distance(word, form) > 1 for form in forms
    )


def _terms_near(copy: SearchCopy, word: str) -> list[str]:
    """Return the terms of a copy that differ from a word by one slip."""
    terms = copy.terms.beginning_with(word[0])
    matches = process.extract(word, terms, scorer=OSA.distance, score_cutoff=2, limit=None)
    return sorted(
        term for term, distance, _ in matches
        if len(term) >= LETTERS_LEAST and term.isalpha()
        # Or two letters changed places: "bycicle".
        if distance == 1 or (sorted(word) == sorted(term) and sum(map(str.__ne__, word, term)) == 2)
    )  # fmt: skip


PHRASES_LIMIT: Final = 2  # phrases of one question that are tried as kinds
_ARTICLES: Final = lexicon.words("articles")
_ASKING_FOR: Final = lexicon.words("asking")
_OWN_FACTS: Final = lexicon.words("own_facts")  # words for what people say of themselves
_OF_TIMES: Final = frozenset("_".join(lexicon.fields("other")["no_time_of_its_own"]).split("_"))
"""Words of fields that say no place."""
_OF: Final = lexicon.words("of")
_NUMBERS: Final = lexicon.words("number_words")
_OF_MY: Final = lexicon.words("self_genitive")


class Meant(NamedTuple):
    """What a question means.

    Attributes:
        named: what it names, whole and in part, and by relationships to that.
        way: the ids of the entities at the end of a chain of relationships, then of those before it.
        notes: what is missing, or left out.
        leads_nowhere: a step of the chain is missing, so nothing is answered.
    """

    named: list[Named]
    kind: Kind | None = None
    way: Sequence[str] = ()
    notes: Sequence[str] = ()
    leads_nowhere: bool = False


async def meant(asking: Asking, by_names: list[Named]) -> Meant:
    """Return what a question means; ``by_names`` is what whole names in it name."""
    question = asking.question
    every_self = naming.selves(question, question.selves, asking.me)
    for phrase in kind_lookup.phrases(asking.reading, by_names)[:PHRASES_LIMIT]:
        # The words that say a kind name nothing.
        named = await _named(asking, by_names, phrase.places)
        followed = await asked_relationships.by_relationships(asking, named, phrase.places)
        owner = [each for each in every_self if each.start in question.mine and each.end in phrase.places]
        if phrase.role:
            owner += naming.selves(question, [start for start, _ in phrase.anchors], asking.me)
        kind = await kind_lookup.of_phrase(asking, phrase, [*named, *owner], followed)
        if kind is not None:
            notes = [kind.note] if kind.note else []
            return Meant(await asking.of_types([*followed, *named]), kind, notes=notes)
    named = await _named(asking, by_names, frozenset())
    # "My Brother's House" may be a name.
    used_places = naming.places_of(named)
    selves = [each for each in every_self if each.start not in used_places]
    implied = [] if every_self or question.ours else _implied(asking, named)
    ours = naming.selves(question, implied or question.ours, asking.me)
    chain = chains.longest_chain(question, [*named, *selves, *ours], [each.start for each in ours])
    is_about_own = await _is_about_own(asking)
    title = chains.longest_chain(question, named, with_titles=True) if named and not chain else None
    if title is not None and await asking.have_any([each.id for each in named], title.steps):
        title = None
    longest = chain or title
    decided = None if longest is None else await _by_chain(asking, longest, named, selves, ours)
    # "My cat" may be one of which nothing says whose it is.
    if decided and (decided.named or not implied) and not (
        is_about_own and {each.id for each in decided.named} <= {asking.me}
    ):  # fmt: skip
        return decided
    if is_about_own:
        return await _by_relationships(asking, named, [], chain, is_about_self=False)
    return await _by_relationships(asking, named, selves, chain, is_about_self=await _is_about_self(asking))


async def _is_about_own(asking: Asking) -> bool:
    """Return whether a question asks for something of what is behind "my": "the number plate of my car".

    Where who asks has such a word too, as a field, it has to ask for something else that who asks has not:
    "the serial number of my phone" is asked of the phone, "my phone number" is not.
    """
    reading, pieces, me = asking.reading, asking.question.pieces, [asking.me or ""]
    owned = {at + 1: pieces[at + 1] for at in asking.question.mine if at + 1 < len(pieces)}
    words = [piece.token for piece in owned.values()]
    if not any(kind_words.named_kind([word], reading.types, reading.aliases) for word in words):
        return False
    if not await asking.have_any(me, words):
        return True
    # A verb may follow: "the warranty of my phone ends".
    verbs = question_words.LABELS if asking.question.answer_kinds == {"time"} else ()
    is_whole = any(
        piece.ends
        or piece.is_possessive
        or all(each.is_stop_word or each.token in verbs for each in pieces[place + 1 : place + 2])
        for place, piece in owned.items()
    )
    other_words = {*_asked(asking, [*asking.question.selves, *owned]).values()} - _NUMBERS
    return is_whole and bool(other_words) and not await asking.have_any(me, other_words)


async def _by_relationships(
    asking: Asking, named: list[Named], selves: list[Named], chain: Chain | None, *, is_about_self: bool
) -> Meant:
    """Return what a question names, and what relationships lead to from there.

    Args:
        selves: the words for who asks; they count where nothing else is named.
        is_about_self: whether it then asks for something of who asks.
    """
    question, before = asking.question, set[str]()
    if asking.past is not None and asking.past.before:
        # "Before Bremen" does not ask for Bremen.
        start, end = asking.past.span
        before = {each.id for each in named if start <= each.start and each.end <= end}
        if len(named) > len(before):
            # "Who had the number before Tom?", where the number is that of Tom.
            words = asking.past.before
            before |= {each.id for each in named if await asking.have_any([each.id], words, IN_NAMES)}
        named = [each for each in named if each.id not in before]
    described = chains.described(question)
    unsure = question.pieces[described].token if described >= 0 else ""
    person = unsure if unsure in chains.PEOPLE else ""
    followed = await asked_relationships.by_relationships(asking, named or selves, frozenset(), person)
    labels = question_words.labels(piece.token for piece in question.pieces) & question_words.PLACES
    followed = [
        each
        for each in followed
        # An address says more than the city in which somebody lives.
        if each.id not in before and not (labels and question.answer_kinds == {"place"} and (
            await asking.have_any([each.related_to or ""], labels, IN_LABEL)
        ))
    ]  # fmt: skip
    way = [each.id for each in followed] if unsure else []
    unsure = "" if followed and person else unsure
    is_about_self = not named and (bool(followed) or (is_about_self and not unsure))
    bases = named or (selves if is_about_self else [])
    if not followed and not unsure:
        unsure = await _unknown(asking, bases, chain)
        if unsure and not named and await asking.copy.look(lambda documents: unsure in documents.terms):
            # Something else says it: a note about the dentist, where nobody is known as that of who asks.
            bases, unsure, is_about_self = [], "", False
    named = await asking.of_types([*followed, *bases])
    named = [each._replace(unsure=each.unsure or unsure) for each in named]
    if not (named or is_about_self or question.asked_identifiers):
        look = asking.copy.look if len(asking.copy.documents) <= INLINE_DOCUMENTS else asking.copy.in_thread
        near = await look(lambda documents: named_nearly(documents, question))
        named = await asking.of_types(near)
    return Meant(named, way=way, notes=[naming.WHO_ASKS_NOTE] if is_about_self and asking.me is None else [])


async def _is_about_self(asking: Asking) -> bool:
    """Return whether a question that names nothing else asks for something of who asks: "Where do I live?".

    The words beside "I" and "my" ask for what people say of themselves, for a relationship, or are among the
    words of the entity that is marked so.
    """
    question, pieces, me = asking.question, asking.question.pieces, [asking.me or ""]
    if not question.selves:
        return False
    owned = {at + 1: pieces[at + 1] for at in question.mine if at + 1 < len(pieces)}
    # "My accountant's phone" and "the phone of my accountant" are none of who asks.
    words_by_place = {
        place: piece.token
        for place, piece in owned.items()
        if piece.is_possessive or pieces[place - 1].token in _OF_MY
        or (place > 1 and pieces[place - 2].token in _OF)
    } or _asked(asking, question.selves)  # fmt: skip
    # Whom a relationship leads to is known where it is one: "Who fixed my roof?"
    no_verb = words_by_place if asking.me and question.answer_kinds == {"person"} else owned
    if not words_by_place or await asking.have_any(me, words_by_place.values()) or any(
        word in _OWN_FACTS or question_words.says_role(word, with_types=place not in no_verb)
        for place, word in words_by_place.items()
    ):  # fmt: skip
        return True
    # All of them may ask for fields of other names.
    labels = [{word, *question_words.LABELS.get(word, ())} for word in words_by_place.values()]
    return all([await asking.have_any(me, each) for each in labels])


def _asked(asking: Asking, skipped: Collection[int]) -> dict[int, str]:
    """Return the words, by their places, that say what a question asks for beside what it names."""
    return {
        place: piece.token
        for place, piece in enumerate(asking.question.pieces)
        if place not in skipped and piece.token and not piece.is_stop_word and piece.token not in _ASKING_FOR
    }


async def _unknown(asking: Asking, bases: Sequence[Named], chain: Chain | None) -> str:
    """Return the word for what is asked of what a question names, empty if something says it."""
    answer_kinds = asking.question.answer_kinds
    words = [*_asked(asking, naming.places_of(bases)).values()]
    if chain is not None and len(chain.steps) == 1 and not chain.is_beside:
        words = [step for step in chain.steps if step not in chains.AMBIGUOUS]
    elif not all(each.kind == naming.SELF for each in bases):
        words = [word for word in words if question_words.says_role(word, with_types=True)]
        words = words if "person" in answer_kinds else []
    labels = question_words.labels(words) - (_OF_TIMES if answer_kinds == {"place"} else set())
    roles = {role for word in words for role in question_words.role_of(word).words}
    if not words or await asking.have_any([each.id for each in bases], {*words, *labels, *roles}):
        return ""
    return words[-1]


def _implied(asking: Asking, named: Sequence[Named]) -> list[int]:
    """Return the place of an article that stands for "our": "Who is the apprentice?"."""
    pieces = asking.question.pieces
    end = len(pieces) if asking.past is None else asking.past.span[0]
    places = [place for place in range(end) if pieces[place].token in _ARTICLES]
    is_asked = "person" in asking.question.answer_kinds and all(each.start >= end for each in named)
    is_first = all(piece.is_stop_word for piece in pieces[: places[-1] if places else 0])
    return places[-1:] if is_asked and is_first else []


async def _best(asking: Asking, ends: list[Named]) -> list[Named]:
    """Return those of some entities that have the most or the least of what a question says: the oldest."""
    measure = asking.reading.measure() if len(ends) > 1 else None
    if measure is None or measure.how not in ("max", "min"):
        return ends
    rows, _ = await rows_of(asking.context, [each.id for each in ends])
    quantities: dict[str, measures.Quantity] = {}
    for row in rows:
        values = {name: canonical.decode(text) for name, text in snapshot_of(row).items()}
        field = measures.measured(measure, values, (), ())
        if field is not None and (quantity := measures.quantity(field.field, values)) is not None:
            quantities[row.id] = quantity
    best = measures.extremes(measure, quantities)[: measure.most]
    return [each for entity_id in best for each in ends if each.id == entity_id] or ends


async def _by_chain(
    asking: Asking, chain: Chain, named: Sequence[Named], selves: Sequence[Named], ours: Sequence[Named]
) -> Meant | None:
    """Return what a chain of relationships in a question leads to, ``None`` if its words are none."""
    is_ours = chain.start in {each.start for each in ours}
    if not (chain.decides or chain.is_title or is_ours or chain.start in asking.question.mine):
        return None
    bases = [each for each in (*named, *selves, *ours) if each.start == chain.start]
    way = await chains.follow(asking, chain, bases, is_ours=is_ours)
    if not way.named and not way.note:
        return None
    if not way.named and (chain.decides or not (named or chain.is_beside)):
        return Meant([], notes=[way.note], leads_nowhere=True)
    ends = await _best(asking, way.named)
    if chain.has_more and len(chain.steps) == 1:
        # "Where does my sister work?": the verb is a step as well.
        at = chain.places[0]
        ends = [each._replace(start=at, end=at + 1) for each in ends]
        ends = [*await asked_relationships.by_relationships(asking, ends, chain.places[1:]), *ends]
    if chains.described(asking.question) in chain.places:
        # Of "my friend who lives in Rome", only the friend is known.
        ends = [each._replace(unsure=chain.steps[-1]) for each in ends]
    every = await asking.of_types([*ends, *named, *(bases if ends else ())])
    # Of two children, "Which school does my son go to?" asks for the one that has a school.
    says = {each.id: await asking.have_any([each.id], chain.beside) for each in ends}
    ends = sorted(ends, key=lambda each: not says[each.id])
    # Of a title, a relationship of what is named tells more: who bears it now, and who did.
    is_apart = chain.is_title or (chain.is_beside and not any(says.values()))
    led = [] if is_apart else [*(each.id for each in ends), *way.between]
    return Meant(every, way=list(dict.fromkeys(led)), notes=[way.note] if way.note else [])


async def _named(asking: Asking, by_names: Sequence[Named], kind: Collection[int]) -> list[Named]:
    """Return what a question names by names, whole and in part, beside the words that say a kind."""
    named = [each for each in by_names if not any(place in kind for place in each.places)]
    named += [each for each in await naming.signed(asking) if each.id not in {of.id for of in named}]
    return named + await naming.by_parts(asking, named, kind)
