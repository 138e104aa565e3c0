"""Files that nobody wrote for graphmem: a text of each is found, by search and by context."""

from __future__ import annotations

import pytest

from tests.faces.test_sources import with_file
from tests.support.faces import Call
from tests.support.files_of_others import OtherFile, all_files

pytestmark = pytest.mark.usefixtures("own_interpretations")
FILES = all_files()


def missing(run: Call, files: list[OtherFile]) -> dict[str, list[str]]:
    """Store some files and return, by the names of files, by what their texts are not found."""
    sources = {}
    for file in files:
        answer = run("store", **with_file(file.data, file.name))
        assert answer["interpretation"]["status"] == "completed", file.name
        sources[file.name] = answer["source_id"]
    lacking: dict[str, list[str]] = {}
    for file in files:
        passages = run("sources.search", search=file.said)["passages"]
        own = [each for each in passages if each["source_id"] == sources[file.name]]
        texts = [text for each in own for text in (each["quote"], each.get("title", ""))]
        if file.name.endswith((".png", ".jpg")):
            # What a picture says of itself is a value: it has no text.
            entities = run("entities.query", search=file.said, include_snapshots=True)["entities"]
            texts = [str(value) for each in entities for value in each["snapshot"].values()]
        lines = run("context.retrieve", question=file.said)["lines"]
        for face, shown in {"search": texts, "context": lines}.items():
            if not any(file.said in " ".join(text.replace("\\n", " ").split()) for text in shown):
                lacking.setdefault(file.name, []).append(face)
    return lacking


def test_there_are_sixty_files() -> None:
    assert len(FILES) >= 60
    assert len({file.name for file in FILES}) == len(FILES)


def test_a_text_of_each_third_file_of_others_is_found(run: Call) -> None:
    assert missing(run, FILES[::3]) == {}


@pytest.mark.long
def test_a_text_of_each_file_of_others_is_found(run: Call) -> None:
    assert missing(run, FILES) == {}
