"""``graphmem session``: the commands at a prompt, or one a line from a pipe, in one process."""

from __future__ import annotations

import contextlib
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, get_origin

import typer

from graphmem.cli.command_groups import SHORT
from graphmem.cli.commands import listed
from graphmem.cli.session import Session, console, tell_progress

if TYPE_CHECKING:
    # Only who types at a prompt waits for these to load.
    from prompt_toolkit.history import History

    from graphmem.settings import Settings

HISTORY: Final = "session_history"
"""The file of the data directory that keeps the lines, for this user only; a sealed instance has none."""
RECENT: Final = 200  # entities whose ids and names are completed without a look-up
REFUSED: Final = frozenset({"session", "mcp"})  # commands that would take the input of the session
ENDS: Final = frozenset({"exit", "quit"})
_LAST_WORD: Final = re.compile(r"""(?:[^\s"']|"[^"]*"?|'[^']*'?)*$""")


def prompt_session(session: Session, keep_going: bool = False) -> None:
    run = LineRunner(session)
    if sys.stdin.isatty():
        _at_prompt(session, run)
        return
    first = 0
    for line in sys.stdin.read().splitlines():
        code = run(line)
        first = first or code
        if run.has_ended or (code and not keep_going):
            break
    if first:
        raise typer.Exit(first)


class LineRunner:
    def __init__(self, session: Session) -> None:
        from graphmem.cli.main import app

        self.session = session
        self.group: Any = typer.main.get_command(app)
        self.has_ended = False

    def __call__(self, line: str) -> int:
        try:
            words = shlex.split(line, comments=True)
        except ValueError as exc:
            # An apostrophe is no quote in a question.
            words = line.split()
            if words[0] in self.group.commands:
                tell_progress(f"{exc}: quote a text that has a quote in it")
                return 2
        words = words[1:] if words[:1] == ["graphmem"] else words
        if not words:
            return 0
        if words[0] in ENDS:
            self.has_ended = True
            return 0
        if words[0] in REFUSED:
            tell_progress(f"{words[0]} takes the input of the session: run it outside")
            return 2
        words = [*words[1:], "--help"] if words[0] == "help" else words
        return self._run(["context", *words] if self.is_question(words) else words)

    def is_question(self, words: list[str]) -> bool:
        """Return whether words are no command, also none that is misspelled, and are no options."""
        known = [*self.group.commands]
        if words[0] in known or any(word.startswith("-") for word in words):
            return False
        return words[-1].endswith("?") or (len(words) > 2 and not get_close_matches(words[0], known, 1, 0.8))

    def _run(self, words: list[str]) -> int:
        try:
            self.group.main(args=words, prog_name="graphmem", obj=self.session)
        except SystemExit as exc:
            return exc.code if isinstance(exc.code, int) else int(exc.code is not None)
        return 0


class Completions:
    """What a line may go on with. What the service has to tell is kept until :meth:`forget`."""

    def __init__(self, session: Session, group: Any) -> None:
        self._session = session
        self._group = group
        self._told: dict[str, list[str]] = {}

    def forget(self) -> None:
        """Ask the service again the next time."""
        self._told.clear()

    def of(self, text: str) -> tuple[int, list[str]]:
        """Return how many characters at the end of ``text`` are replaced, and by which words."""
        match = _LAST_WORD.search(text)
        raw = match[0] if match else ""
        try:
            before = shlex.split(text[: len(text) - len(raw)])
        except ValueError:
            return 0, []
        begun = raw.strip("\"'").casefold()
        before = before[1:] if before[:1] in (["graphmem"], ["help"]) else before
        words = [word for word in self._words(before, begun) if word.casefold().startswith(begun)]
        return len(raw), [shlex.quote(word) for word in dict.fromkeys(words)]

    def _words(self, before: list[str], begun: str) -> Iterable[str]:
        command, path = self._group, list[str]()
        rest = list(before)
        while rest and rest[0] in getattr(command, "commands", ()):
            command = command.commands[rest[0]]
            path.append(rest.pop(0))
        if hasattr(command, "commands"):
            return [*command.commands, *(() if path else ("exit", "help"))]
        options = {name: each for each in command.params for name in (*each.opts, *each.secondary_opts)}
        if begun.startswith("-"):
            return [name for name in options if name.startswith("--") and not options[name].hidden]
        if rest and rest[-1] in options and not options[rest[-1]].is_flag:
            return self._values(path, options[rest[-1]], rest[-1], begun)
        arguments = [each for each in command.params if each.param_type_name == "argument"]
        count = sum(not word.startswith("-") for word in rest)
        return self._values(path, arguments[min(count, len(arguments) - 1)], "", begun) if arguments else ()

    def _values(self, path: list[str], parameter: Any, option: str, begun: str) -> Iterable[str]:
        if choices := list(
            _choices(getattr(getattr(parameter, "type_descriptor", None), "annotation", None))
        ):
            return choices
        entry: Mapping[str, Any] = listed().get(SHORT.get(path[0], tuple(path)), {})
        name = next(
            (
                "entity" if each["value"] == "entity" else each["name"]
                for each in entry.get("parameters", ())
                if (option in each.get("option", "").split("/") if option else each["name"] == parameter.name)
            ),
            parameter.name or "",
        )
        if name == "entity":
            return self._entities(begun)
        if "relationship_type" in name or name.removesuffix("s") in ("entity_type", "type"):
            kind = "relationships_by_type" if "relationship" in name else "entities_by_type"
            return self._ask(kind, "server.stats", {}, lambda answer: list(answer[kind]))
        return ()

    def _entities(self, begun: str) -> list[str]:
        """Return names, then ids: of the entities observed last, else of those that a look-up finds."""

        def named(answer: Any) -> list[str]:
            rows = answer["entities"]
            return [row["canonical_name"] for row in rows] + [row["entity_id"] for row in rows]

        newest = {"sort_by": "last_observation_at", "sort_order": "desc", "limit": RECENT}
        recent = self._ask("", "entities.query", newest | {"include_snapshots": False}, named)
        if len(begun) < 2 or any(word.casefold().startswith(begun) for word in recent):
            return recent
        return self._ask(
            begun, "entities.find", {"identifier": begun, "limit": 20, "provenance": "none"}, named
        )

    def _ask(
        self, key: str, operation: str, arguments: dict[str, Any], read: Callable[[Any], list[str]]
    ) -> list[str]:
        if key not in self._told:
            self._told[key] = []
            # A completion that fails completes nothing.
            with contextlib.suppress(Exception):
                self._told[key] = read(self._session.ask(operation, arguments))
        return self._told[key]


def _choices(annotation: Any) -> Iterator[str]:
    for each in get_args(annotation):
        if get_origin(annotation) is Literal:
            yield str(each)
        else:
            yield from _choices(each)


def history_of(chosen: Settings) -> History:
    """Return what was asked before; of a sealed instance no file has it, as it names what is stored."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    from graphmem.neo4j_local.private_files import private_directory, used_as_data

    history = Path(chosen.data_path / HISTORY)
    with used_as_data(chosen.data_path):
        private_directory(chosen.data_path)
        if chosen.keys_path.exists():
            history.unlink(missing_ok=True)
            return InMemoryHistory()
        history.touch(0o600)
        history.chmod(0o600)
    return FileHistory(str(history))


def _at_prompt(session: Session, run: LineRunner) -> None:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document

    completions = Completions(session, run.group)

    class Tab(Completer):
        def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
            length, words = completions.of(document.text_before_cursor)
            for word in words:
                yield Completion(word, start_position=-length)

    prompt: PromptSession[str] = PromptSession(
        history=history_of(session.settings()), completer=Tab(), complete_while_typing=False,
        complete_in_thread=True, auto_suggest=AutoSuggestFromHistory(),
    )  # fmt: skip
    console.print("help shows the commands, Tab completes, exit or Ctrl-D ends", style="dim", highlight=False)
    while not run.has_ended:
        try:
            run(prompt.prompt("graphmem> "))
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        completions.forget()
