"""A file whose encoding was guessed wrongly is read again by the one that is named."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from tests.faces.conftest import Command
from tests.support.faces import Call

TABLE = "name,city\nErdős Pál,Győr\n".encode("cp1250")


def names(run: Call) -> list[str]:
    """Return the names of all entities of the table."""
    return [each["canonical_name"] for each in run("entities.query")["entities"]]


def stored(run: Call, **more: Any) -> dict[str, Any]:
    content = base64.b64encode(TABLE).decode()
    return run("store.unstructured", file_content=content, original_filename="people.csv", **more)


def test_a_stored_file_is_read_again_by_the_charset_of_its_mime_type(run: Call) -> None:
    first = stored(run)["interpretation"]
    assert names(run) == ["Erdõs Pál"]
    assert "The encoding is a guess: cp1252, the next likely one is" in first["warnings"][0]
    again = stored(run, mime_type="text/csv; charset=cp1250")
    assert again["deduplicated"]
    assert "warnings" not in again["interpretation"] or not again["interpretation"]["warnings"]
    assert names(run) == ["Erdős Pál"]
    # The reading by the same encoding is there already.
    assert (
        stored(run, mime_type="text/csv; charset=cp1250")["interpretation"]["interpretation_id"]
        == (again["interpretation"]["interpretation_id"])
    )


def test_a_command_names_the_encoding(command: Command, run: Call, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_bytes(TABLE)
    named = ("--encoding", "cp1250")
    assert "Erdõs Pál" in json.loads(command("parse", str(file), "--json")[1])["text"]
    assert "Erdős Pál" in json.loads(command("parse", str(file), "--json", *named)[1])["text"]
    assert command("upload", str(file))[0] == 0
    assert names(run) == ["Erdõs Pál"]
    code, stdout, _ = command("upload", str(file), "--json", *named)
    assert (code, json.loads(stdout)["files"][0]["deduplicated"]) == (0, True)
    assert names(run) == ["Erdős Pál"]
    code, _, stderr = command("upload", str(file), "--encoding", "klingon")
    assert code == 2
    assert "the encoding 'klingon' is unknown" in stderr
