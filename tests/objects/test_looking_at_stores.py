"""What `graphmem doctor` and `graphmem storage info` say of an object store."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from graphmem import settings
from graphmem.cli.main import app
from graphmem.doctor import Finding, around, machine
from graphmem.settings import Settings
from tests.support.object_places import OWNER, ObjectPlace, directory_place, parts, s3_place
from tests.support.permissions import deny
from tests.support.s3_server import S3Server
from tests.support.service import free_port


def finding(chosen: Settings) -> Finding:
    """Return what the doctor finds about the object store."""
    return asyncio.run(around.objects(chosen))


def test_a_store_that_keeps_and_deletes_an_object_is_sound(place: ObjectPlace) -> None:
    place.run(lambda store: store.put(OWNER, parts(b"one")))
    result = finding(place.settings)
    assert result.status == "ok"
    assert "keeps, answers and deletes" in result.what
    assert ("MB are free" in result.what) == place.is_local


def test_looking_at_a_directory_that_is_not_there_makes_none(local: ObjectPlace) -> None:
    result = finding(local.settings)
    assert (result.status, "does not exist yet" in result.what) == ("ok", True)
    assert not local.settings.data_path.exists()


def test_a_directory_without_rights_fails(local: ObjectPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    local.run(lambda store: store.put(OWNER, parts(b"one")))
    deny(monkeypatch, local.settings.objects_path)
    result = finding(local.settings)
    assert (result.status, "Permission denied" in result.what) == ("fail", True)
    assert "give this user access" in result.fix


def test_a_bucket_that_does_not_answer_fails(server: S3Server, tmp_path: Path) -> None:
    place = s3_place(server, tmp_path, objects_endpoint=f"http://127.0.0.1:{free_port()}", objects_attempts=1)
    result = finding(place.settings)
    assert (result.status, "EndpointConnectionError" in result.what) == ("fail", True)
    assert "GRAPHMEM_OBJECTS_BUCKET" in result.fix


def test_settings_of_a_bucket_without_a_bucket_are_told(tmp_path: Path) -> None:
    chosen = settings.load(env="test", data_dir=tmp_path, objects_region="eu-central-1")
    whats = [item.what for item in machine.contradictions(chosen, {})]
    assert "GRAPHMEM_OBJECTS_REGION have no effect without GRAPHMEM_OBJECTS_BUCKET" in whats


def run_info(place: ObjectPlace, monkeypatch: pytest.MonkeyPatch, *words: str) -> Result:
    """Run `graphmem storage info` on a place. A database at an address needs no data directory."""
    for name, value in {"NEO4J_URI": "bolt://127.0.0.1:1", **place.variables}.items():
        monkeypatch.setenv(name, value)
    return CliRunner().invoke(app, ["storage", "info", *words], catch_exceptions=False)


def test_info_counts_objects_bytes_and_owners(place: ObjectPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    for owner in (OWNER, "Ada"):
        for content in (b"one", b"other"):
            place.run(lambda store, owner=owner, content=content: store.put(owner, parts(content)))
    result = run_info(place, monkeypatch, "--json")
    answer = json.loads(result.stdout)
    where, folders = answer.pop("place"), {row["what"]: row for row in answer.pop("parts")}
    assert answer.pop("data_directory") == str(place.settings.data_path)
    assert (folders["files"]["bytes"] or 0) > 0 or not place.is_local
    assert where.startswith(folders["files"]["path"])
    assert folders["database"] == {"what": "database", "path": "bolt://127.0.0.1:1", "bytes": None}
    size = 2 * (place.taken(3) + place.taken(5))
    assert answer == {
        "kind": "directory" if place.is_local else "s3", "objects": 4, "bytes": size, "owners": 2,
        "unfinished": 0, "unfinished_bytes": 0,
    }  # fmt: skip
    assert (str(place.settings.objects_path) if place.is_local else place.settings.objects_bucket) in where
    table = run_info(place, monkeypatch).stdout
    words = (
        "objects",
        "bytes",
        f"{size:,}",
        "owners",
        "place",
        "database",
        "logs",
        "backups",
        "caches",
        "search",
    )
    assert all(word in table for word in words)


def test_info_of_a_directory_without_a_database_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NEO4J_URI", raising=False)
    result = CliRunner().invoke(app, ["--data-dir", str(tmp_path / "x"), "storage", "info"])
    assert result.exit_code == 6
    assert list(tmp_path.iterdir()) == []


def test_info_asks_no_service(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["--base-url", "http://127.0.0.1:1", "storage", "info"])
    assert (result.exit_code, "run it there" in " ".join(result.stderr.split())) == (6, True)


def test_info_of_a_store_that_is_down_exits_with_7(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = directory_place(tmp_path)
    place.variables |= {
        "GRAPHMEM_OBJECTS_BUCKET": "files", "GRAPHMEM_OBJECTS_ENDPOINT": f"http://127.0.0.1:{free_port()}",
        "GRAPHMEM_OBJECTS_ATTEMPTS": "1", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y",
    }  # fmt: skip
    result = run_info(place, monkeypatch, "--json")
    assert result.exit_code == 7
    assert json.loads(result.stderr)["error_code"] == "OBJECT_STORE_UNAVAILABLE"


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"objects_kms_key": "k"}, "GRAPHMEM_OBJECTS_ENCRYPTION"),
        ({"objects_prefix": "/x"}, "no folder"),
        ({"objects_prefix": "a/../b"}, "no folder"),
        ({"objects_prefix": "a\nb"}, "no folder"),
        ({"objects_endpoint": "http://a:b@host"}, "AWS_ACCESS_KEY_ID"),
        ({"objects_endpoint": "host:9000"}, "GRAPHMEM_OBJECTS_ENDPOINT"),
    ],
)
def test_settings_that_cannot_be_say_what_can(overrides: dict[str, str], words: str) -> None:
    with pytest.raises(settings.ConfigurationInvalid) as caught:
        settings.load(**overrides)
    assert words in str(caught.value)


@pytest.mark.parametrize(("given", "kept"), [("", ""), ("a", "a/"), ("a/", "a/"), ("a/b", "a/b/")])
def test_a_prefix_is_a_folder(given: str, kept: str) -> None:
    assert settings.load(objects_prefix=given).objects_prefix == kept
