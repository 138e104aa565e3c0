"""Change one table of a TOML file that people edit; everything else stays as it is."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TomlEntry:
    """The table at ``path`` of a TOML file, and the value that it is set to."""

    path: tuple[str, ...]
    value: Any

    def value_in(self, text: str) -> Any:
        """Return the value that a file has at the path, None if it has none. ValueError: it is no TOML."""
        value: Any = tomllib.loads(text)
        for name in self.path:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def put(self, text: str) -> str:
        """Return the text of a file with the table. ValueError: it is no TOML, or has no room for it."""
        import tomlkit
        from tomlkit.items import InlineTable

        if self.value_in(text) == self.value:
            return text
        document = tomlkit.parse(text)
        above: Any = document
        for name in self.path[:-1]:
            if name not in above:
                above.append(name, tomlkit.table(is_super_table=True))
            above = above[name]
            if not hasattr(above, "keys"):
                raise ValueError(f"{name} in it is no table")
        is_inline = isinstance(above, InlineTable)
        table = tomlkit.inline_table() if is_inline else tomlkit.table()
        table.update(self.value)
        if not is_inline:
            # A blank line before the table that follows.
            table.add(tomlkit.nl())
        above[self.path[-1]] = table
        after = tomlkit.dumps(document)
        after = after[:-1] if after.endswith("\n\n") and not text.endswith("\n\n") else after
        if "\n" not in text.replace("\r\n", ""):
            after = after.replace("\r\n", "\n").replace("\n", "\r\n" if "\r\n" in text else "\n")
        return self._checked(text, after)

    def removed(self, text: str) -> str:
        import tomlkit

        if self.value_in(text) is None:
            return text
        document = tomlkit.parse(text)
        above: Any = document
        for name in self.path[:-1]:
            above = above[name]
        del above[self.path[-1]]
        return self._checked(text, tomlkit.dumps(document))

    def _checked(self, before: str, after: str) -> str:
        """Return ``after`` if nothing but the table differs. ValueError: something else would change."""
        if self._others(before) != self._others(after):
            raise ValueError("its tables are written in a way in which nothing can be added")
        return after

    def _others(self, text: str) -> Any:
        document = tomllib.loads(text)
        above: Any = document
        for name in self.path[:-1]:
            above = above.get(name, {})
        above.pop(self.path[-1], None)
        if not above:
            document.pop(self.path[0], None)
        return document
