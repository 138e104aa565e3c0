"""A folder of Markdown: a file for each entity, its fields as front matter, its relationships as links.

Front matter is one `name: value` in each line, with the value as JSON, which YAML is too. The field `content`
is the body. The links stand below a mark, each in a line with the type and, as JSON, what is said of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from graphmem.cli.exporting.export_spool import ExportSpool, Row, compact
from graphmem.errors import InvalidInput
from graphmem.ingest.interpreters.exported_notes import MARK, OWN, checksum

NAME_BYTES_LIMIT: Final = 120  # bytes of a name without its suffix; file systems take 255
_RESERVED: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.IGNORECASE)
"""Names of devices on Windows."""
_REFUSED: Final = re.compile(r'[<>:"/\\|?*#^\[\]%]')
"""What no name may have on Windows, or no link in Markdown."""


def file_name(name: str) -> str:
    """Return a name as that of a file: no separators, no control characters, no device, never empty."""
    text = "".join(c if c.isprintable() else " " for c in unicodedata.normalize("NFC", name))
    text = " ".join(_REFUSED.sub("-", text).split())
    text = text.encode()[:NAME_BYTES_LIMIT].decode(errors="ignore").strip(" .")
    return f"{text}_" if _RESERVED.fullmatch(text) else text or "_"


def collision_key(name: str) -> str:
    """Return what two names share that are one on a file system that ignores case."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


JOURNAL: Final = ".graphmem-export.jsonl"
"""The file with the path and the hash of each file that an export wrote."""
_PLAIN_KEY: Final = re.compile(r"[a-z_][a-z0-9_]*", re.ASCII)
_UNSEEN: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""Characters that JSON leaves as they are, and YAML does not take."""
_YAML_WORDS: Final = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}


class NoteFolder:
    """The files of an export, and of those before it. What others put there, or changed, stays."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._hashes: dict[str, set[str]] = {}
        journal = folder / JOURNAL
        for line in journal.read_text("utf-8").splitlines() if journal.exists() else ():
            # The last line may be torn.
            try:
                path, known = json.loads(line)
            except ValueError:
                continue
            self._hashes.setdefault(path, set()).add(known)
        self._written: dict[str, str] = {}
        self.counts: Counter[str] = Counter()

    def write(self, spool: ExportSpool) -> Iterator[str]:
        """Write the files that changed, and remove those whose entity is gone; yield each path."""
        paths = self._paths(spool)
        with (self._folder / JOURNAL).open("a", encoding="utf-8") as journal:
            for row in spool.entities():
                path = paths[row["entity_id"]]
                text = note(spool, row, paths).encode()
                known = hashlib.sha256(text).hexdigest()
                before = self._hash(path)
                if before == known:
                    self.counts["unchanged"] += 1
                elif before is None or before in self._hashes.get(path, ()):
                    # A run that is killed after this line knows that the file is its own.
                    journal.write(compact([path, known]) + "\n")
                    journal.flush()
                    self._replace(path, text)
                    self.counts["written"] += 1
                else:
                    # Somebody wrote in it.
                    self.counts["edited"] += 1
                self._written[path] = known
                yield path
        self._remove()
        self._replace(JOURNAL, "".join(compact([*each]) + "\n" for each in self._written.items()).encode())

    def _paths(self, spool: ExportSpool) -> dict[str, str]:
        """Return the path of each entity. Names that are one without case end with a part of the id."""
        plain = {
            row["entity_id"]: f"{row['entity_type']}/{file_name(row['canonical_name'])}"
            for row in spool.entities()
        }
        shared = Counter(collision_key(path) for path in plain.values())
        paths: dict[str, str] = {}
        for entity_id, path in plain.items():
            is_taken = f"{path}.md" not in self._hashes and (self._folder / f"{path}.md").exists()
            alone = shared[collision_key(path)] == 1 and not is_taken
            paths[entity_id] = f"{path}.md" if alone else f"{path} {entity_id[4:12]}.md"
        return paths

    def _hash(self, path: str) -> str | None:
        file = self._folder / path
        if file.parent.is_symlink() or file.is_symlink():
            raise InvalidInput(f"{file} is a link: an export writes into its own folder only", file=str(file))
        return hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else None

    def _replace(self, path: str, data: bytes) -> None:
        file = self._folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f".{hashlib.sha256(path.encode()).hexdigest()[:16]}.part")
        partial.write_bytes(data)
        os.replace(partial, file)

    def _remove(self) -> None:
        for path in sorted(self._hashes.keys() - self._written.keys()):
            known = self._hash(path)
            if known is not None and known in self._hashes[path]:
                (self._folder / path).unlink()
                self.counts["removed"] += 1
            elif known is not None:
                self.counts["edited"] += 1


def note(spool: ExportSpool, row: Row, paths: dict[str, str]) -> str:
    """Return the text of the file of an entity. Its line `checksum` is :func:`checksum` of the others."""
    fields = dict(row["snapshot"])
    own = {
        "graphmem": row["entity_id"],
        "entity_type": row["entity_type"],
        "canonical_name": row["canonical_name"],
        "identity": spool.identity(row["entity_id"]),
        "updated": row["last_observation_at"],
    }
    content = fields.get("content")
    is_body = isinstance(content, str) and content == content.strip() and content and MARK not in content
    body = f"\n{fields.pop('content')}\n" if is_body and "\r" not in str(content) else ""
    # A field with the name of a line of the file's own stands in an object, which has all of these.
    beside = {name: fields.pop(name) for name in OWN if name in fields}
    own |= {"fields": beside} if beside else {}
    lines = [*own.items(), *sorted(fields.items())]
    front = "".join(f"{_key(name)}: {_value(value)}\n" for name, value in lines)
    links = "".join(_link(spool, each, paths) for each in spool.relationships(row["entity_id"]))
    text = f"---\n{front}---\n{body}" + (f"\n{MARK}\n\n{links}" if links else "")
    head, _, rest = text.partition("\n" + _key("entity_type"))
    return f'{head}\nchecksum: "{checksum(text)}"\n{_key("entity_type")}{rest}'


def _link(spool: ExportSpool, row: Row, paths: dict[str, str]) -> str:
    target = spool.entity(row["target_entity_id"])
    name = "" if target is None else " ".join(re.sub(r"[\[\]|\n\r]", " ", target["canonical_name"]).split())
    metadata = f" {compact(row['snapshot'])}" if row["snapshot"] else ""
    path = paths[row["target_entity_id"]].removesuffix(".md")
    return f"- {row['relationship_type']} [[{path}|{name}]]{metadata}\n"


def _key(name: str) -> str:
    is_plain = _PLAIN_KEY.fullmatch(name) is not None and name not in _YAML_WORDS
    return name if is_plain else _value(name)


def _value(value: Any) -> str:
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))
