"""People who share an e-mail address: who of them an observation is about.

The address alone identifies a person, until two observations that it identified contradict each other in the
name or the birthday. Then each observation counts for the person, a *part* of the address, whose id its own
name or birthday makes together with the address. What gives the address alone, and what fits two parts that
contradict each other, stays with the id of the address. All functions depend on the observations alone, in
no order.

Names contradict each other where the given names are not one name: beyond nicknames, short forms, initials,
accents, script, the order of the words and one slip; so do a name and that of the other gender: Daniel and
Daniela, senior and junior, and, where no given name is known, Mr and Mrs. Another family name with the same
given name contradicts nothing: people marry. Birthdays contradict each other where both are full days, and
are not each other with day and month exchanged. At an address of a role, such as ``info@``, every other name
is another part. Forms of one record, which its own id names, are those of one person, whatever they say.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain, combinations, product
from typing import Any, Final, NamedTuple

from graphmem import tables
from graphmem.model import canonical, dates, identity, ids, person_names
from graphmem.model.numbers import NUMBERED

EMAIL: Final = "email"
NUMBER: Final = "number"
FORMS_LIMIT: Final = 200
"""Names at one address; with more of them it joins nothing: each name is a part of its own."""
CURRENCY_LENGTH: Final = 3  # letters of the code of a currency; a sign such as $ may mean several
_SHORT_FORM_LEAST: Final = 3
"""Letters of a given name that may be the beginning of its long form: Alex of Alexandra."""
_NAMES: Final = tables.read("model/names_of_people")
_GENDERED: Final = {ending: frozenset(others.split()) for ending, others in _NAMES["gendered"].items()}
_HONORIFICS: Final = frozenset(f"{_NAMES['honorifics']} {_NAMES['short_honorifics']}".split())


def _labels(listed: str) -> list[str]:
    """Return labels as queries compare them, also without their accents."""
    labels = identity.squeezed(listed.replace(" ", "\n")).split()
    return [*labels, *(plain for each in labels if (plain := _without_accents(each)) not in labels)]


def _without_accents(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")


_GENERATIONS, _GENDERS = (
    {word: side for side, words in enumerate(pair) for word in words.split()} for pair in _NAMES["told_apart"]
)
_FIRST_AND_LAST: Final = [[*map(_labels, pair)] for pair in _NAMES["first_and_last"]]
_FULL_NAMES: Final = _labels(_NAMES["full_names"])
_OTHER_LABELS: Final = frozenset((*chain(*chain(*_FIRST_AND_LAST)), *_FULL_NAMES))
_RECORD_FIELDS: Final = ("uuid", "external_id")
RECORD_LENGTH: Final = 8  # the least of an id that names a record in any file; a shorter one may number rows
_ROLES: Final = frozenset(
    word for words in tables.read("model/role_addresses").values() for word in words.split()
)
_FAMILY_FIRST: Final = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL")
"""Scripts whose family names come first, as the names of their characters begin."""


class Form(NamedTuple):
    """The name and the birthday that one observation gives a person, as identities compare them."""

    name: str | None
    birthday: str | None


class NumberForm(NamedTuple):
    """What one observation says beside a number: a whole day, a partner, the code of a currency."""

    date: str | None
    counterparty: str | None
    currency: str | None


AnyForm = Form | NumberForm
Records = Mapping[AnyForm, Collection[str]]  # by form of a person, the ids of the records that say it
NO_IDS: Final[Records] = {}


def basis_of(entity_type: str | None) -> str | None:
    """Return the basis of the observations that something shared may identify, by type; else ``None``."""
    if entity_type in identity.PEOPLE:
        return EMAIL
    numbered = NUMBERED.get(entity_type or "")
    return NUMBER if numbered and numbered.is_dated else None


@lru_cache(maxsize=1_000)
def fields_of(entity_type: str) -> frozenset[str]:
    """Return the fields that say who is meant at an address or number, also as queries compare them."""
    if basis_of(entity_type) == NUMBER:
        return frozenset(identity.identifying_names(entity_type, ((NUMBER, *NumberForm._fields),)))
    named = identity.identifying_names(entity_type, ((EMAIL, *Form._fields, "canonical_name", "full_name"),))
    return _OTHER_LABELS.union(named, map(identity.squeezed, named), _RECORD_FIELDS, ("externalid",))


def beside_number(read: Mapping[str, Any]) -> NumberForm:
    """Return what fields under their usual names say beside a number."""
    texts = [value if isinstance(value := read.get(name), str) else "" for name in NumberForm._fields]
    written, currency = dates.parse(texts[0].strip()), identity.fold_text(texts[2])
    day = written.iso[:10] if written else ""
    return NumberForm(
        day if _day(day) else None,
        identity.identity_value(texts[1]),
        currency if len(currency) == CURRENCY_LENGTH else None,
    )


def form_of(entity_type: str, fields: Mapping[str, Any]) -> AnyForm | None:
    read = identity.read_fields(entity_type, fields)
    if basis_of(entity_type) == NUMBER:
        beside = beside_number(read)
        return beside if any(beside) else None
    names = (identity.identity_value(read.get(name)) for name in ("name", "canonical_name", "full_name"))
    name = _name_in_other_languages(fields) or next(filter(None, names), None)
    form = Form(name, identity.identity_value(read.get("birthday")))
    return form if any(form) else None


def records_of(entity_type: str, fields: Mapping[str, Any]) -> list[str]:
    """Return the ids of the record that says what a person is, such as the UID of a card."""
    read = identity.read_fields(entity_type, fields) if basis_of(entity_type) == EMAIL else {}
    values = (identity.identity_value(read.get(name)) for name in _RECORD_FIELDS)
    return [value for value in values if value and len(value) >= RECORD_LENGTH]


def _name_in_other_languages(fields: Mapping[str, Any]) -> str | None:
    """Return the first and last name of a person, else the whole name, in another language than English."""
    texts = {identity.squeezed(label): identity.identity_value(value) for label, value in fields.items()}
    for labels in () if _OTHER_LABELS.isdisjoint(texts) else (*_FIRST_AND_LAST, [_FULL_NAMES]):
        parts = [next(filter(None, map(texts.get, each)), None) for each in labels]
        if all(parts):
            return " ".join(filter(None, parts))
    return None


def contradiction(form: AnyForm, other: AnyForm, records: Records = NO_IDS) -> str | None:
    """Return the field in which two forms contradict each other, if there is one."""
    if _are_one_record(form, other, records):
        return None
    if isinstance(form, NumberForm) or isinstance(other, NumberForm):
        pairs = zip(NumberForm._fields, form, other, strict=True)
        return next((name for name, value, another in pairs if value and another and value != another), None)
    if form.name and other.name and names_contradict(form.name, other.name):
        return "name"
    birthdays = [each.birthday for each in (form, other) if each.birthday and _day(each.birthday)]
    if len(birthdays) > 1 and not _are_one_birthday(*birthdays):
        return "birthday"
    return None


@lru_cache(maxsize=50_000)
def names_contradict(name: str, other: str) -> bool:
    """Return whether the given names of two folded names are two; see above."""
    words, others = _words(name), _words(other)
    if name == other or not words or not others or _script(words[0]) != _script(others[0]):
        return False
    spelled = [each.replace(".", " ").replace(",", " ").split() for each in (name, other)]
    generations = {_GENERATIONS.get(each[-1]) for each in spelled}
    genders = {_GENDERS.get(each[0]) for each in spelled} if len(words) == len(others) == 1 else set[int]()
    if {0, 1} in (generations, genders):
        return True
    if min(len(words), len(others)) == 1:
        return not any(_are_one(word, each) for word in words for each in others)
    if _script(words[0]).startswith(_FAMILY_FIRST):
        words, others = [*words[1:], words[0]], [*others[1:], others[0]]
    given, family, others_given, others_family = words[:-1], words[-1], others[:-1], others[-1]
    if any(_are_one(word, each) for word in given for each in others_given):
        return False
    # One of the two may have the family name first.
    return not (
        any(_are_one(word, others_family) for word in given)
        and any(_are_one(family, each) for each in others_given)
    )


def is_other_family(name: str, known: Iterable[str]) -> bool:
    """Return whether a folded name has another family name than all of the known ones, in whatever order. A
    name of one word says no family name."""
    words = _words(name)
    wholes = [others for each in known if len(others := _words(each)) > 1]
    return len(words) > 1 and bool(wholes) and not any(_share_family(words, others) for others in wholes)


def _share_family(words: Sequence[str], others: Sequence[str]) -> bool:
    if _script(words[0]) != _script(others[0]):
        return True
    place = 0 if _script(words[0]).startswith(_FAMILY_FIRST) else -1
    pairs = (words[place], others), (others[place], words)
    return any(_are_one(family, each) for family, rest in pairs for each in rest)


@lru_cache(maxsize=50_000)
def _words(name: str) -> list[str]:
    family, comma, given = name.partition(",")
    plain = _without_accents(f"{given} {family}" if comma else name)
    letters = "".join(c if c.isalnum() else " " for c in plain)
    words = letters.split()
    return [word for word in words if word not in _HONORIFICS] or words


def _script(word: str) -> str:
    return unicodedata.name(word[0], "").partition(" ")[0]


def _are_one(word: str, other: str) -> bool:
    short, long = sorted((word, other), key=len)
    begin = next(
        (at for at, pair in enumerate(zip(word, other, strict=False)) if pair[0] != pair[1]), len(short)
    )
    ending, other_ending = word[begin:], other[begin:]
    if begin >= _SHORT_FORM_LEAST and (
        other_ending in _GENDERED.get(ending, ()) or ending in _GENDERED.get(other_ending, ())
    ):
        return False
    is_short_form = len(short) >= _SHORT_FORM_LEAST and long.startswith(short)
    return is_short_form or person_names.is_form_of(word, other)


def _are_one_birthday(birthday: str, other: str) -> bool:
    """Return whether two birthdays are one, perhaps with day and month exchanged."""
    day, other_day = _day(birthday), _day(other)
    if day is None or other_day is None:
        return birthday == other
    return day[0] == other_day[0] and sorted(day[1:]) == sorted(other_day[1:])


def _day(birthday: str) -> list[str] | None:
    """Return year, month and day of a full birthday; where the two are exchanged, the month may be none."""
    written = dates.parse(birthday)
    parts = (written.iso[:10] if written else birthday).split("-")
    is_full = len(parts) == 3 and all(part.isdecimal() for part in parts)
    return parts if is_full and [len(part) for part in parts] == [4, 2, 2] else None


@dataclass(frozen=True)
class Parting:
    """The forms of the observations that one address identified, each with the id of its part.

    The id is ``None`` for a form that stays with the id of the address: all of them, unless two contradict.
    Of an address with more than :data:`FORMS_LIMIT` forms, ``parts`` keeps the first ones.
    """

    parts: Mapping[AnyForm, str | None]

    @property
    def is_shared(self) -> bool:
        return bool(self.ids)

    @cached_property
    def ids(self) -> list[str]:
        """The ids of the parts, sorted."""
        return sorted({each for each in self.parts.values() if each})

    @property
    def whole(self) -> str | None:
        """The part for which all of the forms count, if it is one."""
        parts = {*self.parts.values()}
        return next(iter(parts)) if len(parts) == 1 else None

    @property
    def text(self) -> str:
        """It as canonical JSON: ``[[name, birthday, id of the part], …]``, sorted; of a number alike."""
        return canonical.encode(sorted(([*form, each] for form, each in self.parts.items()), key=str))

    @classmethod
    def of_text(cls, text: str) -> Parting:
        rows = canonical.decode(text)
        return cls(
            {(Form if len(row) == len(Form._fields) else NumberForm)(*row): part for *row, part in rows}
        )

    @classmethod
    def of_forms(
        cls, owner: str, entity_type: str, address: str, forms: Iterable[AnyForm], records: Records = NO_IDS
    ) -> Parting:  # fmt: skip
        """Return the parting that the forms at an address, normalised, come to."""
        forms = sorted(set(forms), key=str)
        ids_of = {form: _part_ids(owner, entity_type, address, form) for form in forms}
        if address.partition("@")[0].partition("+")[0] in _ROLES:
            # It belongs to a role or a program, and joins no names, however near.
            of_roles = {form: _own_part_id(ids_of[form]) for form in forms[: FORMS_LIMIT + 1]}
            return cls(of_roles if len({*of_roles.values()}) > 1 else dict.fromkeys(forms))
        if len(forms) > FORMS_LIMIT:
            return cls({form: _own_part_id(ids_of[form]) for form in forms[: FORMS_LIMIT + 1]})
        if not any(contradiction(form, other, records) for form, other in combinations(forms, 2)):
            return cls(dict.fromkeys(forms))
        linked = {form: [other for other in forms if _are_linked(form, other, records)] for form in forms}
        ambiguous = [form for form in forms if _is_ambiguous(form, linked[form], forms, records)]
        groups = _components([form for form in forms if form not in ambiguous], linked)
        parts: dict[AnyForm, str | None] = dict.fromkeys(ambiguous)
        for group in groups:
            others = set[AnyForm]().union(*(each for each in groups if each != group))
            parts |= dict.fromkeys(group, _id_of_group(group, others, ids_of))
        return cls(parts)

    @property
    def is_crowded(self) -> bool:
        return len(self.parts) > FORMS_LIMIT

    def part(self, owner: str, entity_type: str, address: str, form: AnyForm) -> str | None:
        """Return the id of the part of a form; ``None`` where it stays with the id of the address."""
        if self.is_crowded:
            return _own_part_id(_part_ids(owner, entity_type, address, form))
        return self.parts.get(form)

    def former(self, owner: str, entity_type: str, address: str) -> dict[str, Parting]:
        """Return the ids that parts may have had when fewer forms were known, with what each parts into."""
        former: dict[str, dict[AnyForm, str | None]] = {}
        for form, part in self.parts.items() if self.is_shared else ():
            for each in _part_ids(owner, entity_type, address, form).values():
                if each not in self.ids:
                    former.setdefault(each, {})[form] = part
        return {each: Parting(parts) for each, parts in former.items()}


def _own_part_id(made: Mapping[str, str]) -> str:
    """Return the id that a form makes alone: by the first that it says."""
    return next(iter(made.values()))


def _id_of_group(
    group: set[AnyForm], others: set[AnyForm], ids_of: Mapping[AnyForm, Mapping[str, str]]
) -> str:
    """Return the smallest id that the forms of one person make, and none of the forms of others. A father and
    a son of one name have birthdays, twins have names."""
    made = {each for form in group for each in ids_of[form].values()}
    made -= {each for form in others for each in ids_of[form].values()}
    both = {ids_of[form]["both"] for form in group if "both" in ids_of[form]}
    return min(made - both or made)


def _part_ids(owner: str, entity_type: str, address: str, form: AnyForm) -> dict[str, str]:
    """Return the ids that a form makes with the address or number, by field; all that it says by ``both``."""
    values = {field: value for field, value in zip(form._fields, form, strict=True) if value}
    fields = {field: (field,) for field in values} | ({"both": (*values,)} if len(values) > 1 else {})
    basis = basis_of(entity_type) or EMAIL
    return {
        key: ids.entity_id(
            owner, entity_type, "+".join((basis, *names)), [address, *(values[each] for each in names)]
        )
        for key, names in fields.items()
    }


@lru_cache(maxsize=20_000)
def is_part(owner: str, entity_type: str, entity_id: str, evidence: frozenset[tuple[str, str]]) -> bool:
    """Return whether evidence makes an id as a part of what is shared."""
    basis = basis_of(entity_type)
    kind = NumberForm if basis == NUMBER else Form
    addresses = [value for name, value in evidence if name == basis]
    values = [[*(value for name, value in evidence if name == field), None] for field in kind._fields]
    forms = [kind(*each) for each in product(*values) if any(each)]
    return any(
        entity_id in _part_ids(owner, entity_type, address, form).values()
        for address in addresses
        for form in forms
    )


@dataclass(slots=True)
class AddressForms:
    """What observations say of the people at one address."""

    entity_type: str
    address: str
    forms: set[AnyForm] = field(default_factory=set)
    records: dict[AnyForm, set[str]] = field(default_factory=dict)

    def add(self, form: AnyForm, records: Collection[str]) -> None:
        self.forms.add(form)
        if records:
            self.records.setdefault(form, set()).update(records)


def _is_ambiguous(form: AnyForm, linked: list[AnyForm], forms: list[AnyForm], records: Records) -> bool:
    """Return whether a form is linked with two that contradict each other, or may be anybody's.

    So is a birthday without a name, where a birthday is not known. What is said beside a number may be
    said of others with whom it has nothing in common.
    """
    if any(contradiction(other, further, records) for other, further in combinations(linked, 2)):
        return True
    others = [other for other in forms if other != form and not contradiction(form, other, records)]
    if isinstance(form, NumberForm):
        return not linked and bool(others)
    return not (form.name or linked) and any(isinstance(other, Form) and other.name for other in others)


def _are_one_record(form: AnyForm, other: AnyForm, records: Records) -> bool:
    return not frozenset(records.get(form, ())).isdisjoint(records.get(other, ()))


def _components(waiting: list[AnyForm], linked: Mapping[AnyForm, list[AnyForm]]) -> list[set[AnyForm]]:
    """Return the forms of each person: those that are linked, directly or through others."""
    groups: list[set[AnyForm]] = []
    while waiting:
        group, reached = set[AnyForm](), [waiting[0]]
        while reached:
            form = reached.pop()
            group.add(form)
            reached += [each for each in linked[form] if each not in group and each in waiting]
        waiting = [form for form in waiting if form not in group]
        groups.append(group)
    return groups


def _are_linked(form: AnyForm, other: AnyForm, records: Records) -> bool:
    """Return whether two forms have something in common, and contradict each other in nothing."""
    if _are_one_record(form, other, records):
        return form != other
    if isinstance(form, NumberForm) or isinstance(other, NumberForm):
        has_shared = any(value and value == another for value, another in zip(form, other, strict=True))
        return form != other and has_shared and contradiction(form, other) is None
    shared = form.name and other.name
    if form.birthday and other.birthday:
        shared = shared or _are_one_birthday(form.birthday, other.birthday)
    return form != other and bool(shared) and contradiction(form, other) is None
