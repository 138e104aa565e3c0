"""Load the .cypher files beside this module as documented queries.

A file's path is its name: ``entity/get.cypher`` is ``query("entity.get")``. Its header is parsed, and a
header that disagrees with the text refuses to load::

    // entity.get: one entity with its current snapshot.
    //
    // params  entity_id: STRING
    // returns entity: LIST
    // mode    read
    // index   entity_id
    // cost    light

The runner binds ``owner`` in every query, so headers do not list it; a query that does not use it says
``// tenancy global`` and why. ``<noun._name>`` stands for the text of ``noun/_name.cypher``, so that several
queries share a part. ``<fact._value_kinds>`` and the like stand for what the model says, see ``_FACTS``.
``RELATIONSHIP_TYPES`` stands for the requested relationship types, sorted: a filter by parameter would expand
every edge of a hub. Migrations are in ``migrations/``, see :mod:`graphmem.database.migrations`.

Queries demand their index seeks (``USING INDEX SEEK``). Neo4j may plan to read a whole index that it believes
to be empty, and keeps that plan later. For a node by its unique key, such as
``MATCH (entity:Entity {id: $id})``, :func:`parse` adds the demand.

How a sealed instance writes each parameter, and which columns it opens, is declared in ``sealing.toml``. For
names that are not there the header says so: ``// sealing name: equal client, text: sealed at id``.

The order of a page is that of an index and cannot be a parameter. So a query with ``WAY`` in its text has two
forms, ``entity.page[asc]`` and ``entity.page[desc]``: ``WAY`` becomes ``ASC`` or ``DESC``, and ``BEYOND``
becomes ``>`` or ``<``. A query whose header says ``// keys    name_key, created_at`` has both forms for each
of these properties, which replace ``KEY``. :func:`form` makes the names.

A large query may have forms that leave parts of it out: Neo4j plans every statement anew after a start, and
the time grows with the text. The header lists the forms as ``// forms   plain, linked``; the name of one is
``write.turn[plain]``. Lines between ``// only linked, whole`` and ``// end`` are in these forms alone, where
``whole`` is the query under its own name. A form takes the parameters that its text uses.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources
from typing import Any, Final, Literal, LiteralString, NamedTuple, cast

from graphmem.cypher.declared_sealing import Declared, declared
from graphmem.model import ending, facts, relationship, times, valid_time

_HEADER = re.compile(
    r"\A// (?P<name>[\w.]+): (?P<doc>.+?)\n//\n"
    r"// params {2}(?P<params>.*)\n"
    r"// returns (?P<returns>.*)\n"
    r"// mode {4}(?P<mode>read|write)\n"
    r"// index {3}(?P<index>.*)\n"
    r"// cost {4}(?P<cost>light|heavy)\n"
    r"(?:// keys {4}(?P<keys>\w+(?:, \w+)*)\n)?"
    r"(?:// forms {3}(?P<forms>\w+(?:, \w+)*)\n)?"
    r"(?:// sealing (?P<sealing>[^\n]*(?:\n// {9}[^\n]*)*)\n)?"
    r"(?:// tenancy global: (?P<tenancy>[^\n]*)\n)?",
    re.DOTALL,
)
_USED = re.compile(r"\$(\w+)")
_FRAGMENT = re.compile(r"<(\w+)\.(_\w+)>")
_NAME = re.compile(r"(?P<file>\w+\.\w+)(?:\[(?:(?P<key>\w+) )?(?P<way>asc|desc)\]|\[(?P<form>\w+)\])?")
_WHOLE = "whole"
_ONLY = re.compile(r"\s*// only (\w+(?:, \w+)*)")
_END = re.compile(r"\s*// end")
_TYPES = "RELATIONSHIP_TYPES"
BY_WRITER: Final = "by_writer"
"""The parameter that callers may leave out: whether only the clocks of the writers count, not when this copy
learned of a fact of another one. As of no time of recording that is the same, and is not looked at."""
_OWN_TYPE = "related"
"""The type of the edges of all owners' own relationship types; such an edge carries the name (``type``)."""
_FACTS = {
    "_value_kinds": facts.VALUE_KINDS,
    "_lifecycle_kinds": facts.LIFECYCLE_KINDS,
    "_merge_kinds": facts.MERGE_KINDS,
    "_names_of_dates": sorted(valid_time.NAMES),
    "_characters_of_dates": ending.VALUE_LIMIT,
    "_latest": times.LATEST,
    "_sealed": facts.SEALED_MARK,
}
"""The fragments ``<fact._…>``, by name."""
_KEYED = re.compile(
    r"MATCH [^\n]*\((?P<name>\w+):(?P<label>\w+) \{(?P<properties>[^}]*)\}\)[^\n]*$", re.MULTILINE
)
_UNIQUE = re.compile(r"FOR \(n:(\w+)\) REQUIRE \(?(n\.\w+(?:, n\.\w+)*)\)? IS UNIQUE")
_BEYOND = {"asc": ">", "desc": "<"}

Way = Literal["asc", "desc"]


class Query(NamedTuple):
    name: str
    doc: str
    params: dict[str, str]
    returns: dict[str, str]
    mode: Literal["read", "write"]
    cost: Literal["light", "heavy"]
    tenancy: str | None
    sealing: Declared
    text: LiteralString

    @property
    def takes_types(self) -> bool:
        return _TYPES in self.text

    @property
    def names_nodes(self) -> bool:
        """Whether it writes the id of its node before a sealed value (``entity/_placed.cypher``)."""
        return f"'{facts.SEALED_MARK}' + '@'" in self.text


def parse(name: str, source: str) -> Query:
    """Return the query that a file holds, in the form that the name says.

    Raises:
        ValueError: the header is incomplete, or names other parameters than the text uses; the query has no
            such form.
    """
    parsed_name = _NAME.fullmatch(name)
    match = _HEADER.match(source)
    if parsed_name is None or match is None or match["name"] != parsed_name["file"]:
        raise ValueError(f"{name}: the header must say name, params, returns, mode, index and cost")
    body = _with_fragments(source[match.end() :])
    text = _KEYED.sub(_with_seek, _lines_of(body, parsed_name["form"] or _WHOLE))
    if not text:
        raise ValueError(f"{name}: there is no query below the header")
    if name not in _forms(parsed_name["file"], match, text):
        raise ValueError(f"{name}: there is no such form of this query")
    way = parsed_name["way"] or ""
    for marker, filling in ("KEY", parsed_name["key"]), ("WAY", way.upper()), ("BEYOND", _BEYOND.get(way)):
        text = re.sub(rf"\b{marker}\b", filling, text) if filling else text
    params = _fields(match["params"])
    bound = set() if match["tenancy"] else {"owner"}
    if "owner" in params or set(params) | bound != set(_USED.findall(_lines_of(body, None))):
        raise ValueError(f"{name}: header and text disagree on parameters")
    returns = _fields(match["returns"])
    try:
        sealing = declared(params, returns, match["mode"], _fields(match["sealing"] or ""))
    except ValueError as exc:
        raise ValueError(f"{name}: {exc}") from exc
    return Query(
        name=name,
        doc=re.sub(r"\n// ?", " ", match["doc"]),
        params={param: kind for param, kind in params.items() if re.search(rf"\${param}\b", text)},
        returns=returns,
        mode="read" if match["mode"] == "read" else "write",
        cost="heavy" if match["cost"] == "heavy" else "light",
        tenancy=match["tenancy"],
        sealing=sealing,
        # Our own files, shipped in the package: as safe as a literal in the code.
        text=cast("LiteralString", Text(_USED.sub(_in_one_map, text))),
    )


def _lines_of(body: str, form: str | None) -> str:
    """Return the lines below a header that are in a form, or in any, without comments at the start of a line.
    Raises ValueError: a part has no end, or an end has no part."""
    lines: list[str] = []
    parts: list[bool] = []
    for line in body.splitlines():
        if only := _ONLY.fullmatch(line):
            parts.append(form is None or form in only[1].split(", "))
        elif _END.fullmatch(line):
            if not parts:
                raise ValueError(f"a part ends that did not begin: {body[:80]!r}")
            parts.pop()
        elif all(parts) and not line.startswith("//"):
            lines.append(line)
    if parts:
        raise ValueError(f"a part does not end: {body[:80]!r}")
    return "\n".join(lines).strip()


LIGHT_OFFSET = 10_000  # items that a light query may skip: beyond it a page costs what a heavy query costs


def is_light(name: str, params: Mapping[str, Any]) -> bool:
    """Return whether a query reads little more than it answers, with these parameters."""
    return query(name).cost == "light" and params.get("offset", 0) <= LIGHT_OFFSET


@cache
def query(name: str) -> Query:
    """Return the query of that name; raises FileNotFoundError, ValueError: its file is missing or wrong."""
    return parse(name, _read(*name.partition("[")[0].split(".")))


def form(name: str, way: Way, key: str | None = None) -> LiteralString:
    """Return the name of one form of a query; raises ValueError: the query has no such form."""
    full_name = f"{name}[{key} {way}]" if key else f"{name}[{way}]"
    # query() refuses a name that no file of ours has, so this text is as safe as a literal.
    return cast("LiteralString", query(full_name).name)


@lru_cache(maxsize=256)
def with_types(name: str, types: frozenset[str]) -> LiteralString:
    """Return a query's text with relationship types filled in, and the type of the edges of own types.

    Raises:
        ValueError: one of them is no name of a relationship type.
    """
    if wrong := sorted(name for name in types if not relationship.may_be_native(name)):
        raise ValueError(f"not relationship types: {wrong}")
    # Letters, digits and underscores only, checked above: nothing else that a caller wrote reaches the text.
    filled = query(name).text.replace(_TYPES, "|".join([*sorted(types), _OWN_TYPE]))
    return cast("LiteralString", Text(filled))


@cache
def names() -> Sequence[str]:
    """Return the names of all forms of all queries, in order."""
    forms: list[str] = []
    for folder in resources.files(__name__).iterdir():
        if folder.is_dir() and folder.name not in ("migrations", "__pycache__"):
            for file in folder.iterdir():
                if file.name.endswith(".cypher") and not file.name.startswith("_"):
                    source = file.read_text(encoding="utf-8")
                    name = f"{folder.name}.{file.name.removesuffix('.cypher')}"
                    forms += _forms(name, _HEADER.match(source), _with_fragments(source))
    return sorted(forms)


def _forms(file: str, header: re.Match[str] | None, text: str) -> list[str]:
    keys, forms = (header["keys"], header["forms"]) if header else (None, None)
    if re.search(r"\bWAY\b", text) is None:
        return [file, *(f"{file}[{form}]" for form in (forms.split(", ") if forms else ()))]
    return [
        f"{file}[{key}{way}]"
        for key in ([f"{name} " for name in keys.split(", ")] if keys else [""])
        for way in _BEYOND
    ]


def _with_fragments(text: str) -> str:
    while (filled := _FRAGMENT.sub(lambda match: _fragment(match[1], match[2]), text)) != text:
        text = filled
    return text


def _with_seek(match: re.Match[str]) -> str:
    keys = tuple(part.partition(":")[0].strip() for part in match["properties"].split(","))
    if (match["label"], keys) not in _unique():
        return match[0]
    return f"{match[0]}\nUSING INDEX SEEK {match['name']}:{match['label']}({', '.join(keys)})"


@cache
def _unique() -> frozenset[tuple[str, tuple[str, ...]]]:
    """Return the unique keys that the migrations demand: labels, and their properties in order."""
    files = resources.files(__name__).joinpath("migrations").iterdir()
    shipped = "".join(file.read_text("utf-8") for file in files if file.name.endswith(".cypher"))
    return frozenset(
        (label, tuple(part.removeprefix("n.") for part in properties.split(", ")))
        for label, properties in _UNIQUE.findall(shipped)
    )


def _in_one_map(match: re.Match[str]) -> str:
    """Return ``$name`` as ``$args.name``.

    Neo4j plans a query anew for each order of magnitude of the lengths of its parameters, lists and strings:
    150 ms each time for the larger queries. It does not look at lengths inside a map.
    """
    return match[0] if match[1] == "owner" else f"$args.{match[1]}"


class Text(str):
    """The text of a query. The driver formats it for its log, even without one: 0.05 ms if it is large."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{len(self)} characters of Cypher>"

    def __str__(self) -> str:
        # The driver asks a query for its text by str(), which would make a plain string of it.
        return self


class Parameters(dict[str, Any]):
    """Parameters of a query. The driver formats them for its log, even without one. That takes longer than to
    send them, and what people store must not be in a log."""

    def __repr__(self) -> str:
        return f"<{', '.join(self)}>"


def bind(name: str, params: Mapping[str, Any], owner: str | None) -> dict[str, Any]:
    """Return the parameters of a query as its text expects them.

    Raises:
        ValueError: they are not those that its header names. Neo4j would take a missing one for null.
    """
    declared = query(name).params
    if BY_WRITER in declared:
        until = params.get("at_ingested", params.get("recorded_until"))
        params = {BY_WRITER: until == times.LATEST, **params}
    if params.keys() != declared.keys():
        wrong = sorted(params.keys() ^ declared.keys())
        raise ValueError(f"{name}: caller and header disagree on parameters: {', '.join(wrong)}")
    args = Parameters(params)
    return {"args": args} if owner is None else {"args": args, "owner": owner}


@cache
def _fragment(noun: str, name: str) -> str:
    if noun == "fact":
        value = _FACTS[name]
        if isinstance(value, str):
            return f"'{value}'"
        return str(value if isinstance(value, int) else list(value))
    text = "\n".join(line for line in _read(noun, name).splitlines() if not line.startswith("//")).strip()
    # What is in some forms alone stands on lines of its own.
    return f"\n{text}\n" if _ONLY.search(text) else text


def _read(*parts: str) -> str:
    return resources.files(__name__).joinpath(*parts[:-1], f"{parts[-1]}.cypher").read_text("utf-8")


def _fields(line: str) -> dict[str, str]:
    flat = re.sub(r"\n// +", " ", line).strip()
    if flat in ("", "none"):
        return {}
    return {name: kind for name, _, kind in (part.strip().partition(": ") for part in flat.split(", "))}
