"""Addresses on the web: the forms under which look-up and similarity compare them."""

from __future__ import annotations

import re
from typing import NamedTuple

_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*://)?(?:www\.)?(?P<host>[^\s/?#@:]+\.[^\s/?#@:.]{2,})"
                  r"(?::(?:80|443)(?![0-9]))?(?P<rest>(?::[0-9]+)?(?:[/?#]\S*)?)")  # fmt: skip
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://")


class Address(NamedTuple):
    """A host without ``www.``, and what follows it: port, path, query and fragment."""

    host: str
    rest: str


def parse(folded: str) -> Address | None:
    """Return the address that a folded text is, with or without a scheme; ``None`` where it is none."""
    match = _URL.fullmatch(folded)
    return None if match is None else Address(match["host"], match["rest"].rstrip("/"))


def comparable(folded: str) -> str:
    """Return a folded text without scheme, ``www.``, fragment and last slash: what similarity compares."""
    return _SCHEME.sub("", folded.partition("#")[0]).removeprefix("www.").rstrip("/")


def comparable_host(folded: str) -> str:
    """Return the part of :func:`comparable` up to the first slash."""
    return comparable(folded).partition("/")[0]
