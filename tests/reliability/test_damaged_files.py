"""Objects and the key file, damaged: reads name them, and answer what does not need them as before."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from graphmem.context import Services
from graphmem.errors import GraphmemError
from graphmem.interpretation import make_passages
from graphmem.worker import make_vectors
from tests.faces.test_sources import with_file
from tests.reliability.test_damage_walk import WAYS, called_anew, damaged
from tests.support.event_loop import Loop
from tests.support.faces import by_runner
from tests.support.sealed_services import sealed_services_beside

READS: Final[dict[str, dict[str, Any]]] = {
    "entities.query": {},
    "observations.query": {},
    "sources.list": {},
    "sources.search": {"search": "engine"},
    "context.retrieve": {"question": "Is the engine ready?"},
    "changes.list": {},
}
LISTS: Final = ("keys", "destroyed", "copies")
"""The members of a key file whose items are damaged themselves."""
OF_OBJECTS: Final = {"OBJECT_DAMAGED", "OBJECT_MISSING"}
Change = Callable[[bytes], bytes | None]
CHANGES: Final[dict[str, Change]] = {
    "another byte": lambda data: bytes([*data[:-1], data[-1] ^ 1]),
    "cut": lambda data: data[:-1],
    "longer": lambda data: data + b"x",
    "empty": lambda _: b"",
    "missing": lambda _: None,
}


class Files:
    """An owner with two files, and what is read of them."""

    def __init__(self, loop: Loop, services: Services, owner: str) -> None:
        self.loop, self.services, self.owner = loop, services, owner
        call = by_runner(loop, services, owner)
        ada = {"entity_type": "person", "name": "Ada"}
        # No other owner has a file of the same bytes.
        letters = (f"Dear Ada, the engine of {owner} is {state}.".encode() for state in ("ready", "broken"))
        stored = [
            call("store", entities=[ada], **with_file(each, mime_type="text/plain")) for each in letters
        ]
        self.sources = {each["source_id"]: each["content_hash"] for each in stored}
        while loop.run(make_vectors(services, owner)) + loop.run(make_passages(services, owner)):
            pass
        self.before = self.answers()
        assert not any(isinstance(answer, GraphmemError) for answer in self.before.values())

    def answers(self) -> dict[str, Any]:
        """Return the answers of a process that has read nothing yet, and the errors."""
        answers = dict[str, Any]()
        with called_anew(self.loop, self.services, self.owner) as call:
            for name, arguments in READS.items():
                try:
                    answers[name] = call(name, **arguments)
                except GraphmemError as exc:
                    answers[name] = exc
        return answers

    def is_sound(self, name: str, answer: Any) -> bool:
        """Return whether an answer is that of before, an error of 503, or says that it lacks something."""
        is_marked = isinstance(answer, dict) and bool(answer.keys() & {"hint", "left_out"})
        return answer == self.before[name] or is_marked or getattr(answer, "status", 0) == 503

    async def bytes_of(self, content_hash: str) -> str:
        """Return the code of the error that reading a file raises."""
        try:
            async for _ in self.services.objects.read(self.owner, content_hash):
                pass
        except GraphmemError as exc:
            return exc.code
        return ""

    def codes(self, source_id: str) -> set[str]:
        """Return the codes of the errors with which a file is read: by callers, and by interpreters."""
        codes = {self.loop.run(self.bytes_of(self.sources[source_id]))}
        call = by_runner(self.loop, self.services, self.owner)
        try:
            call("interpretations.run", source_id=source_id)
        except GraphmemError as exc:
            return codes | {exc.code}
        return codes | {""}


@pytest.fixture(params=["in clear", "sealed"])
def files(request: Any, loop: Loop, services: Services, owner: str, tmp_path: Path) -> Iterator[Files]:
    if request.param == "in clear":
        yield Files(loop, services, owner)
        return
    opened = sealed_services_beside(services.settings, tmp_path)
    sealed = loop.run(opened.__aenter__())
    try:
        yield Files(loop, sealed, owner)
    finally:
        loop.run(opened.__aexit__(None, None, None))


def test_a_damaged_object_is_named_and_the_rest_is_answered(files: Files) -> None:
    objects, folder = files.services.objects, files.services.settings.objects_path
    first, second = files.sources
    (name,) = files.loop.run(objects.names(files.owner, [files.sources[first]]))
    (path,) = folder.rglob(name)
    data = path.read_bytes()
    for way, change in CHANGES.items():
        put(path, change(data))
        assert files.codes(first) <= OF_OBJECTS | ({"DECRYPTION_FAILED"} if files.services.keys else set()), (
            way
        )
        assert files.loop.run(files.bytes_of(files.sources[second])) == "", way
        assert files.answers() == files.before, way
    put(path, data)
    assert files.loop.run(files.bytes_of(files.sources[first])) == ""


@pytest.mark.parametrize("files", ["sealed"], indirect=True)
def test_a_damaged_key_file_is_a_named_error_of_each_read(files: Files) -> None:
    assert files.services.keys is not None
    path = files.services.keys.path
    data = path.read_bytes()
    faults = list[str]()
    for case, changed in {**{way: change(data) for way, change in CHANGES.items()}, **members(data)}.items():
        put(path, changed)
        faults += [
            f"{case}: {name}: {answer!r}"[:300]
            for name, answer in files.answers().items()
            # The service may notice the change of the file within a read: then the next read is sound.
            if not files.is_sound(name, answer) and not files.is_sound(name, files.answers()[name])
        ]
        put(path, data)
    assert not faults
    assert files.answers() == files.before


def members(data: bytes) -> dict[str, bytes]:
    """Return key files in which each member is damaged in each way."""
    record, cases = json.loads(data), dict[str, bytes]()
    holders = [(record, name) for name in record] + [(key, name) for key in record["keys"] for name in key]
    for holder, name in holders:
        value = holder[name]
        for way in WAYS[name in LISTS :]:
            holder[name] = damaged(value, way)
            cases[f"{name} {way}"] = json.dumps(record).encode()
        holder[name] = value
    return cases


def put(path: Path, data: bytes | None) -> None:
    if data is None:
        path.unlink()
    else:
        path.touch(0o600)
        path.write_bytes(data)
