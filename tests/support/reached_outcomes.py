"""Record the outcomes that a run of tests reaches, as lines ``operation face outcome`` of a file.

Set ``GRAPHMEM_TEST_REACHED`` to the path of the file; the services that tests start record into it too.
``python -m tests.support.reached_outcomes BEFORE AFTER`` prints the lines of BEFORE that AFTER lacks.

The face is the room of the package that called: ``api``, ``mcp``, ``cli`` ..., ``runner`` for a test itself.
An error that a face answers is recorded once more with the operation ``-``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

VARIABLE = "GRAPHMEM_TEST_REACHED"


def caller_face(depth: int = 2) -> str:
    """Return the room of the package whose code called, ``runner`` where it is not the package."""
    package, _, rest = str(sys._getframe(depth).f_globals.get("__name__", "")).partition(".")
    return rest.partition(".")[0] if package == "graphmem" else "runner"


class Recorder:
    """Appends each outcome once to a file; several processes may append to one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known: set[str] = set()

    def record(self, operation: str, face: str, outcome: str) -> None:
        """Append an outcome at once, so that a process that is killed loses none."""
        line = f"{operation} {face} {outcome}\n"
        if line not in self.known:
            self.known.add(line)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(line)


def install(path: Path) -> None:
    """Record every call of an operation and every error envelope of this process."""
    from graphmem.errors import GraphmemError
    from graphmem.registry import Operation

    recorder = Recorder(path)
    run, envelope = Operation.run, GraphmemError.envelope

    def recorded_run(self: Any, *args: Any, **kwargs: Any) -> Any:
        face = caller_face()

        async def outcome() -> Any:
            try:
                answer = await run(self, *args, **kwargs)
            except GraphmemError as exc:
                recorder.record(self.name, face, exc.code)
                raise
            recorder.record(self.name, face, "ok")
            return answer

        return outcome()

    def recorded_envelope(self: Any, *args: Any, **kwargs: Any) -> Any:
        recorder.record("-", caller_face(), self.code)
        return envelope(self, *args, **kwargs)

    Operation.run = recorded_run
    GraphmemError.envelope = recorded_envelope


def install_if_wanted() -> None:
    """Record where the environment says so."""
    if path := os.environ.get(VARIABLE):
        install(Path(path))


def main() -> None:
    """Print the outcomes that only the first of two runs reached."""
    before, after = (set(Path(path).read_text(encoding="utf-8").splitlines()) for path in sys.argv[1:3])
    sys.stdout.write("".join(f"{line}\n" for line in sorted(before - after)))
    sys.exit(bool(before - after))


if __name__ == "__main__":
    main()
