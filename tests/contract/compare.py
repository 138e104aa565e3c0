"""Compare the contract snapshots of two revisions without their texts.

``python -m tests.contract.compare REVISION [REVISION]`` prints one line for each difference in a name, a
shape, a default, a status, an error code or an order. Without a second revision it reads the working tree.
It exits with 1 where there is a difference.

Descriptions, summaries and titles are texts. A component of the OpenAPI document is compared where it is
used, so that its own name does not count.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
TEXTS = {"description", "summary", "title"}
"""The keywords of OpenAPI and JSON Schema that hold a text."""
NAMED = {"properties", "$defs", "schemas", "patternProperties", "paths", "responses", "headers", "parameters"}
"""The keywords whose keys are names: a property may be called ``description``."""
TABLES = ("operations", "settings", "errors")
ABSENT = "(absent)"


def read(revision: str | None, path: str) -> str:
    """Return a file of a revision, of the working tree where none is given; empty if it is not there."""
    if revision is None:
        file = ROOT / path
        return file.read_text(encoding="utf-8") if file.exists() else ""
    shown = subprocess.run(["git", "show", f"{revision}:{path}"], cwd=ROOT, capture_output=True, check=False)
    return shown.stdout.decode() if shown.returncode == 0 else ""


def pages(revision: str | None) -> Iterator[str]:
    """Yield the pages that may hold a generated table."""
    listing = ["git", "ls-files"] if revision is None else ["git", "ls-tree", "-r", "--name-only", revision]
    listed = subprocess.run(listing, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    yield from (read(revision, path) for path in listed.splitlines() if path.endswith(".md"))


def contract(revision: str | None) -> dict[str, Any]:
    """Return the contract of a revision without its texts."""
    document = yaml.safe_load(read(revision, "tests/contract/openapi.yaml"))
    tools = json.loads(read(revision, "tests/contract/tools.json"))
    commands = read(revision, "tests/contract/cli.txt").splitlines()
    components = document.pop("components")
    rest = without_texts(document, components)
    other = {kind: without_texts(held) for kind, held in components.items() if kind != "schemas"}
    return {
        "openapi": {**rest, "components": other},
        "tools": {tool["name"]: without_texts(tool) for tool in tools},
        "tools in order": [tool["name"] for tool in tools],
        "commands": dict(_commands(commands)),
        **{f"table of {name}": table(revision, name) for name in TABLES},
    }


def without_texts(value: Any, components: Any = None, names: bool = False, path: tuple[str, ...] = ()) -> Any:
    """Return a document without its texts; ``names``: the keys of this mapping are names.

    A reference to a component is replaced by the component. One within itself becomes the word ``recursive``.
    """
    if isinstance(value, list):
        return [without_texts(item, components, False, path) for item in value]
    if not isinstance(value, dict):
        return value
    reference = value.get("$ref")
    if isinstance(reference, str) and components is not None and not names:
        if reference in path:
            return "recursive"
        _, _, kind, name = reference.split("/")
        return without_texts(components[kind][name], components, False, (*path, reference))
    document = {
        key: without_texts(held, components, not names and key in NAMED, path)
        for key, held in value.items()
        if names or key not in TEXTS or not isinstance(held, str)
    }
    # The order in which a schema names what is required says nothing.
    if isinstance(document.get("required"), list) and not names:
        document["required"].sort()
    return document


def _commands(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each command with its parameters in order, without their help."""
    words, parameters = "", []
    for line in lines:
        if line.startswith("    "):
            parameters.append(line.partition(": ")[0].strip().rstrip(":"))
        else:
            if words:
                yield words, parameters
            words, parameters = line.partition(":")[0], []
    yield words, parameters


def table(revision: str | None, name: str) -> list[str]:
    """Return the rows of a generated table without the column of texts, which is the last."""
    for page in pages(revision):
        if match := re.search(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", page, re.DOTALL):
            rows = match[1].splitlines()[2:]
            columns = rows[0].count(" | ") if rows else 0
            return [" | ".join(row.split(" | ")[:columns]) for row in rows]
    return []


def differences(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Yield each difference as ``path: before -> after``."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            yield from differences(before.get(key, ABSENT), after.get(key, ABSENT), f"{path}/{key}")
    elif isinstance(before, list) and isinstance(after, list):
        yield from _of_lists(before, after, path)
    elif before != after or type(before) is not type(after):
        yield f"{path}: {_short(before)} -> {_short(after)}"


def _of_lists(before: list[Any], after: list[Any], path: str) -> Iterator[str]:
    if len(before) == len(after) and not all(isinstance(item, str) for item in before + after):
        for place, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from differences(old, new, f"{path}[{place}]")
        return
    texts = [[_short(item, 10_000) for item in items] for items in (before, after)]
    gone = [item for item in texts[0] if item not in texts[1]]
    new = [item for item in texts[1] if item not in texts[0]]
    yield from (f"{path}: {_short(item)} is gone" for item in gone)
    yield from (f"{path}: {_short(item)} is new" for item in new)
    if before != after and not gone and not new:
        yield f"{path}: another order"


def _short(value: Any, limit: int = 120) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
    return text if len(text) <= limit else f"{text[:limit]}…"


def main() -> None:
    """Print the differences between two revisions."""
    before, after, *_ = [*sys.argv[1:], None, None]
    if before is None:
        sys.exit("usage: python -m tests.contract.compare REVISION [REVISION]")
    lines = sorted(set(differences(contract(before), contract(after))))
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()
