"""Chains of relationships in questions: "the boss of Nadia's sister", "my sister's boss", "Tom's boss's car".

A chain begins at a name, or at who asks. Each step is followed by the relationships that its word stands for,
or by a field of that name whose value is the name of an entity.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from graphmem.model import canonical
from graphmem.search.copy_arrays import IN_NAMES
from graphmem.search.entity_copy import SearchCopy
from graphmem.search.questions import asked_relationships, lexicon, question_words
from graphmem.search.questions.asked_relationships import FOLLOWED_LIMIT
from graphmem.search.questions.chart import Chart, Edge
from graphmem.search.questions.mentions import ATTRIBUTES, AskedNames
from graphmem.search.questions.naming import RELATIONSHIP, Asking, Named
from graphmem.text import words

STEPS_LIMIT: Final = 2  # steps that are followed: each is a round trip
_ARTICLES: Final = lexicon.words("articles")
_OF: Final = lexicon.words("of")
_NO_STEP: Final = question_words.EMPTY | _OF | _ARTICLES
_EXTREMES: Final = lexicon.meanings("extremes").keys()
_PASSED: Final = {"", *_NO_STEP, *lexicon.words("asking"), *" ".join(_EXTREMES).split()}
_FACTS: Final = ATTRIBUTES | lexicon.words("own_facts")  # words that ask for what people say of somebody
_SAID_BY_VALUE: Final = lexicon.words("number_words") | {"name"}
"""Words for what a value itself is: "the number of my phone"."""
AMBIGUOUS: Final = ATTRIBUTES | lexicon.words("ambiguous_roles")
"""Words for relationships that people also say of other things: "the size of Tom's report"."""
CLAUSES: Final = lexicon.words("describing")
PEOPLE: Final = frozenset(lexicon.meanings("genders")) | lexicon.words("somebody")
"""Words for people that say no relationship."""


class Chain(NamedTuple):
    """A chain: the places of the name at its beginning, and the words of its steps from there on.

    ``places`` are those of all nouns, from the name on. ``has_more``: the question asks for something of what
    is at the end, by a noun or a verb. ``is_beside``: other words of the question say something else.
    ``beside``: the words that are no step, but for those that say nothing. ``is_title``: the only step is no
    known role: it may be what somebody is called.
    """

    start: int
    end: int
    steps: tuple[str, ...]
    places: tuple[int, ...]
    has_more: bool = False
    is_beside: bool = False
    beside: tuple[str, ...] = ()
    is_title: bool = False

    @property
    def decides(self) -> bool:
        """Whether nothing but what is at the end is meant."""
        return len(self.steps) > 1 or (self.has_more and not AMBIGUOUS.issuperset(self.steps))


class Way(NamedTuple):
    """Where a chain leads.

    Attributes:
        named: the entities at its end; none where a step is missing.
        between: the ids of the entities before it, the last one first.
        note: which step is missing and what is known, or what a field says at the end. Without it, and
            without an end, the words are no chain.
    """

    named: list[Named]
    between: list[str]
    note: str = ""


def _paths(question: AskedNames, names: Mapping[int, int], mine: Collection[int]) -> list[Chain]:
    """Return the chains that the words of a question make."""
    pieces = question.pieces
    named_places = {place for start, end in names.items() for place in range(start, end)}
    words = [
        Edge("mine" if start in mine else "name", start, end, (start, end)) for start, end in names.items()
    ]
    for place, piece in enumerate(pieces):
        for category, table in (("article", _ARTICLES), ("of", _OF), ("former", question_words.FORMER)):
            if piece.token in table and place not in names:
                words.append(Edge(category, place, place + 1, category))
        for end in range(place + 1, place + 4):
            if " ".join(each.token for each in pieces[place:end]) in _EXTREMES:
                words.append(Edge("extreme", place, end))
        word = "_".join(piece.tokens)
        if piece.is_word and place not in named_places and word not in _NO_STEP and word not in _EXTREMES:
            words.append(Edge("noun", place, place + 1, (word, place)))

    def owned(_start: int, _end: int, base: Any, *others: Any) -> Chain:
        chain = base if isinstance(base, Chain) else Chain(base[0], base[1], (), ())
        step, place = others[-1]
        # "My former husband" is an ex-husband.
        former = f"ex_{step}" if "former" in others else ""
        step = former if question_words.says_role(former) else step
        return chain._replace(steps=(*chain.steps, step), places=(*chain.places, place))

    chart = Chart(
        [piece.ends for piece in pieces],
        [piece.is_possessive for piece in pieces],
        {
            "same": lambda _start, _end, chain: chain,
            "owned": owned,
            "of": lambda start, end, noun, *others: owned(start, end, others[-1], noun),
        },
    )
    return [edge.value for edge in chart.parse("paths", words) if edge.symbol == "PATH"]


def longest_chain(
    question: AskedNames, named: Iterable[Named], ours: Collection[int] = (), *, with_titles: bool = False
) -> Chain | None:
    """Return the longest chain of a question, ``None`` if it has none.

    Args:
        named: with who asks.
        ours: the places of words such as "our".
        with_titles: a noun that says no relationship is a step as well: "Tom's apprentice".
    """
    # Of names that begin with one word, the longest counts.
    names = dict(sorted((each.start, each.end) for each in named if each.end))
    mine = [place for place in (*question.mine, *ours) if names.get(place) == place + 1]
    chains: list[Chain] = []
    for chain in _paths(question, names, mine):
        every = steps = chain.steps
        # A noun behind a possessive may be a field, as in "Tom's plumber's phone".
        owned = [place - 1 in mine or question.pieces[place - 1].is_possessive for place in chain.places]
        is_step = [
            question_words.says_role(step)
            or (number + 1 < len(every) and owned[number])
            or (chain.start in ours and not number)
            for number, step in enumerate(every)
        ]
        # Of "the list of Tom's friends" the last noun says what is asked of the end.
        while steps and not is_step[len(steps) - 1]:
            steps = steps[:-1]
        if steps and all(is_step[: len(steps)]):
            beside = every[len(steps) :]
            chains.append(chain._replace(steps=steps, has_more=bool(beside), beside=beside))
        elif with_titles and len(every) == 1 and every[0] not in AMBIGUOUS | question_words.FIELD_WORDS:
            return chain._replace(is_title=True)
    chain = max(chains, key=lambda each: (len(each.steps), each.has_more), default=None)
    if chain is None or chain.decides:
        return chain
    # "My old address" asks for no age.
    former = range(chain.end, chain.places[0])
    used_places = {
        *chain.places,
        *former,
        *question.selves,
        *(at for span in names.items() for at in range(*span)),
    }
    others = [
        piece.token
        for place, piece in enumerate(question.pieces)
        if place not in used_places and piece.token not in _PASSED and not piece.is_stop_word
    ]
    # "Where does Tom's boss live?"
    asks = all(word in _FACTS or question_words.says_role(word, with_types=True) for word in others)
    beside = (*chain.beside, *others)
    return chain._replace(has_more=bool(others) and asks, is_beside=not asks, beside=beside)


def described(question: AskedNames) -> int:
    """Return the place of the word that a clause describes, -1 without one: "the man who taught Tom". The
    clause begins with a word such as "who", or with "I". Relationships of what it names say who it is."""
    pieces = question.pieces
    for place, piece in enumerate(pieces[:-1]):
        is_led = place and (pieces[place - 1].token in _ARTICLES or place - 1 in question.mine)
        is_head = piece.token in PEOPLE or (is_led and question_words.says_role(piece.token))
        begins = pieces[place + 1].token in CLAUSES or (
            place + 1 in question.selves and place + 1 not in question.mine
        )
        if is_head and begins and not (piece.ends or piece.is_possessive):
            return place
    return -1


async def follow(asking: Asking, chain: Chain, bases: Sequence[Named], *, is_ours: bool = False) -> Way:
    """Follow a chain from what bears the name at its beginning: one round trip for each step. "Our" is what
    is of who asks, or of the company that is theirs: that is one round trip more."""
    if len(chain.steps) > STEPS_LIMIT:
        note = f"{STEPS_LIMIT} steps of relationships are followed: ask from there for the others"
        return Way([], [], note)
    bases = list(bases)
    if is_ours and bases:
        theirs = await asked_relationships.companies(asking, bases[0].id)
        bases += [bases[0]._replace(id=each) for each in theirs]
    ends, between, known = {each.id: each for each in bases[:FOLLOWED_LIMIT]}, list[str](), list[str]()
    for number, step in enumerate(chain.steps, 1):
        is_between = number < len(chain.steps)
        reached, names, what, value = await _step(
            asking, ends, step, is_between=is_between, is_title=chain.is_title
        )
        if not reached:
            says = f"{what} is {value}" if value else f"no {what.removeprefix('the ')} is known"
            if not chain.has_more and (value or step in ATTRIBUTES):
                # A field of what is before says it, but not the colour of "my phone".
                beside = [word for word in chain.beside if word not in _SAID_BY_VALUE]
                having = [each for each in ends.values() if await asking.have_any([each.id], [step])]
                unsure = (beside[-1] if value and beside else "") if value or having else step
                named = [each._replace(unsure=each.unsure or unsure) for each in having or ends.values()]
                return Way(named, between[len(ends) :], says if value else "")
            # A word that says no relationship may say something else.
            is_known = value or question_words.says_role(step)
            return Way([], between, "; ".join([*known, says]) if is_known else "")
        between = [*ends, *between]
        ends = dict(list(reached.items())[:FOLLOWED_LIMIT])
        known.append(f"{what} is {', '.join(f'{names[each]} ({each})' for each in ends)}")
    return Way([*ends.values()], between)


async def _step(
    asking: Asking, ends: Mapping[str, Named], step: str, *, is_between: bool, is_title: bool
) -> tuple[dict[str, Named], dict[str, str], str, str]:
    """Return what a step leads to, the names of that, what it is, and a value of a field, if one says it."""
    role = question_words.role_of(step)
    rows = await asked_relationships.related(
        asking, list(ends), *role.types, types=[], fields=list(role.words), is_between=is_between,
        all_types=True,
    )  # fmt: skip
    listed = asked_relationships.in_role(asked_relationships.among(rows.related, role), ends, [step])
    if not (listed or any(fields for _, _, fields in rows.entities)):
        # "Our driver": what somebody is may stand in the relationship.
        titles = [each.split("_") for each in role.words]
        called = await asked_relationships.called(asking, rows.related, titles, in_others=is_title)
        listed = asked_relationships.in_role(called, ends, [""])
    reached = {each.id: each for each in listed}
    names = {each.other_id: each.other_name for each in rows.related}
    value = ""
    for entity_id, _, fields in rows.entities if not reached else ():
        for name, text in fields:
            for value in words.strings(canonical.decode(text)):
                bearer = await asking.copy.look(partial(_bearer, value=value))
                if bearer is not None and bearer not in ends:
                    path_words, names[bearer] = f"{ends[entity_id].words}, {step}", value
                    reached[bearer] = Named(
                        bearer, RELATIONSHIP, path_words, relationship_type=name, related_to=entity_id,
                        unsure=ends[entity_id].unsure,
                    )  # fmt: skip
    what = f"the {step} of {', '.join(name for _, name, _ in rows.entities)}"
    return reached, names, what, value


def _bearer(copy: SearchCopy, value: str) -> str | None:
    """Return the entity of an id, or the only one whose name has all words of a value."""
    if copy.number_of(value) is not None:
        return value
    tokens = words.tokens(value)
    having = copy.alive if tokens else copy.of_ids([])
    for posting in copy.postings([[word] for word in tokens]):
        having = having & copy.of_numbers(posting.having(IN_NAMES))
    (bearers,) = having.nonzero()
    return copy.ids[bearers[0]] if len(bearers) == 1 else None
