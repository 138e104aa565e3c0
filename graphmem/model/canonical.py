"""Canonical JSON: one text for one value, so that hashes and stored values never depend on who wrote them.

RFC 8785 (JSON Canonicalization Scheme), with two differences that keep every number as it was given:

- an integer is its exact decimal digits, up to 4,300 of them (RFC 8785 would round beyond 2^53);
- a float keeps its point or its exponent (``1.0`` stays ``1.0``, ``-0.0`` stays ``-0.0``), so that it
  is read back as a float. Its digits are those of ECMAScript's ``Number::toString``, as in RFC 8785.

Object members are sorted by the UTF-16 code units of their names, as RFC 8785 section 3.2.3 says.
"""

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from json.encoder import encode_basestring
from typing import Any, cast

from pydantic_core import from_json

MAX_INTEGER_DIGITS = 4300
MAX_DEPTH = 128
"""Levels of lists and objects that anything may have; what holds values is a few levels deeper than they."""
VALUE_DEPTH = 100  # levels of lists and objects that one value may have
_WORDS = {None: "null", True: "true", False: "false"}


class NotCanonical(ValueError):
    """A value has no canonical form; ``path`` says where (``$.a[0]``), the message says why."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


def objects(part: Any) -> Iterator[MutableMapping[str, Any]]:
    """Yield all objects of a value, at any depth."""
    if isinstance(part, dict):
        yield cast("dict[str, Any]", part)
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        if isinstance(inner, (dict, list)):
            yield from objects(inner)


def name_order(name: str) -> bytes:
    return name.encode("utf-16-be")


def encode(value: Any, path: str = "$", levels: int = MAX_DEPTH) -> str:
    """Return the canonical JSON of ``value``.

    Raises:
        NotCanonical: a float that is not finite, a lone surrogate, an integer of more than 4,300
            digits, more than ``levels`` levels, or something that is no JSON value.
    """
    try:
        return _quick(value, levels)
    except (_Unusual, ValueError):
        # Only what is refused has to know where it stands.
        return _quick(_plain(value, path, levels), levels)


def decode(text: str | bytes) -> Any:
    """Return the value of any JSON text, or raise ValueError."""
    return from_json(text, allow_inf_nan=False)


def is_json(text: str) -> bool:
    try:
        decode(text)
    except ValueError:
        return False
    return True


def digest(value: Any) -> str:
    return hashlib.sha256(encode(value).encode()).hexdigest()


def assemble(members: Iterable[tuple[str, str]]) -> str:
    """Return the canonical object of members given as (name, canonical JSON)."""
    ordered = sorted(members, key=lambda member: name_order(member[0]))
    return "{" + ",".join(f"{encode_basestring(name)}:{value}" for name, value in ordered) + "}"


class _Unusual(Exception):
    """A value is not for the short way: it is refused, or of an uncommon class."""


def _quick(value: Any, levels: int) -> str:
    kind = type(value)
    if kind is str:
        if not value.isascii():
            value.encode()
        return encode_basestring(value)
    if kind is int:
        return _integer(value, "")
    if kind is float:
        return _float(value, "")
    if value is None or kind is bool:
        return _WORDS[value]
    if levels < 1:
        raise _Unusual
    if kind is list or kind is tuple:
        return f"[{','.join([_quick(element, levels - 1) for element in value])}]"
    if kind is not dict:
        raise _Unusual
    for name in value:
        if type(name) is not str:
            raise _Unusual
    # Where all are ASCII, the order of UTF-16 code units is that of the strings.
    ordered = sorted(value) if "".join(value).isascii() else sorted(value, key=name_order)
    members = [f"{encode_basestring(name)}:{_quick(value[name], levels - 1)}" for name in ordered]
    return f"{{{','.join(members)}}}"


def _plain(value: Any, path: str, levels: int) -> Any:
    """Return a value of the classes that :func:`_quick` knows, or raise NotCanonical."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        # Lone surrogates cannot be encoded: they would be refused far later, by the database driver.
        try:
            value.encode()
        except UnicodeEncodeError:
            raise NotCanonical(path, "a lone surrogate is not a character") from None
        return str.__str__(value)
    if isinstance(value, int):
        _integer(value, path)
        return int(value)
    if isinstance(value, float):
        _float(value, path)
        return float(value)
    if levels < 1:
        raise NotCanonical(path, "too many levels of nesting")
    if isinstance(value, list | tuple):
        return [_plain(element, f"{path}[{index}]", levels - 1) for index, element in enumerate(value)]
    if not isinstance(value, Mapping):
        raise NotCanonical(path, f"{type(value).__name__} is no JSON value")
    if not all(isinstance(name, str) for name in value):
        raise NotCanonical(path, "a member's name must be a string")
    names = sorted((_plain(name, path, levels) for name in value), key=name_order)
    return {name: _plain(value[name], f"{path}.{name}", levels - 1) for name in names}


def _integer(value: int, path: str) -> str:
    try:
        text = str(int(value))
    except ValueError:
        text = ""
    if not text or len(text.lstrip("-")) > MAX_INTEGER_DIGITS:
        raise NotCanonical(path, f"an integer may have {MAX_INTEGER_DIGITS} digits")
    return text


def _float(value: float, path: str) -> str:
    """Return the shortest digits that read back as ``value``, laid out as in ECMA-262 Number::toString."""
    if not math.isfinite(value):
        raise NotCanonical(path, "NaN and infinities are no JSON numbers")
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    # The value is 0.d1d2d3... times ten to the power of `point`.
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        return f"{sign}{digits}{'0' * (point - count)}.0"
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if count > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{point - 1:+d}"
