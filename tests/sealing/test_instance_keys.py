"""The key file: keys of owners, shared by processes, destroyed, wrapped anew, and copied."""

from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path

import pytest

from graphmem.errors import ConfigurationInvalid, DecryptionFailed, EncryptionKeyInvalid, KeyDestroyed
from graphmem.sealing import InstanceKeys, RootKey

ROOT = RootKey.read("7f" * 32)


@pytest.fixture
def keys(tmp_path: Path) -> InstanceKeys:
    return InstanceKeys.create(tmp_path / "keys.json", ROOT)


def test_each_owner_has_a_key_that_stays(keys: InstanceKeys) -> None:
    ada, eve = keys.of("ada"), keys.of("eve")
    again = InstanceKeys(keys.path, ROOT)
    assert (again.of("ada"), again.find(eve.id)) == (ada, eve)
    assert ada.secret != eve.secret
    assert keys.path.stat().st_mode & 0o777 == 0o600
    text = keys.path.read_text("utf-8")
    assert not any(secret.hex() in text for secret in (ada.secret, eve.secret, ROOT.secret))
    assert not any(secret.hex() in repr(ada) for secret in (ada.secret, ROOT.secret))


def made(path: str) -> list[str]:
    keys = InstanceKeys(Path(path), ROOT)
    return [keys.of(f"owner {number}").id for number in range(20)]


def test_processes_that_need_a_key_at_once_get_the_same_one(keys: InstanceKeys) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        first, *others = pool.map(made, [str(keys.path)] * 3)
    assert others == [first, first]
    assert len(keys.record().keys) == 20


def test_a_destroyed_key_is_gone_for_every_process(keys: InstanceKeys) -> None:
    other = InstanceKeys(keys.path, ROOT)
    ada, eve = keys.of("ada"), keys.of("eve")
    assert other.find(ada.id) == ada
    (gone,) = keys.destroy("ada")
    assert (gone.id, gone.owner) == (ada.id, "ada")
    assert keys.destroy("ada") == []
    for each in (keys, other):
        with pytest.raises(KeyDestroyed, match=ada.id):
            each.find(ada.id)
        assert each.find(eve.id) == eve
    assert json.loads(keys.path.read_text("utf-8"))["destroyed"][0]["id"] == ada.id
    assert keys.of("ada").id != ada.id


def test_another_root_key_wraps_the_same_keys(keys: InstanceKeys) -> None:
    ada, new = keys.of("ada"), RootKey.new()
    keys.rewrap(new)
    assert keys.of("ada") == ada
    assert InstanceKeys(keys.path, new).find(ada.id) == ada
    with pytest.raises(EncryptionKeyInvalid, match=f"{new.id}.*{ROOT.id}"):
        InstanceKeys(keys.path, ROOT)


def test_a_rewrap_that_fails_changes_nothing(keys: InstanceKeys, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = keys.of("ada")
    before = keys.path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(Exception, match="disk is full"):
        keys.rewrap(RootKey.new())
    monkeypatch.undo()
    assert keys.path.read_bytes() == before
    assert [path.name for path in keys.path.parent.iterdir() if "lock" not in path.name] == ["keys.json"]
    assert keys.find(ada.id) == ada


def test_copies_are_noted_and_say_what_must_go(keys: InstanceKeys, tmp_path: Path) -> None:
    ada = keys.of("ada")
    copy = keys.copy_to(tmp_path / "copy.json")
    keys.of("eve")
    later = keys.copy_to(tmp_path / "later.json")
    with pytest.raises(ConfigurationInvalid, match="exists"):
        keys.copy_to(tmp_path / "copy.json")
    (eve,) = keys.destroy("eve")
    assert [(each.id, each.has_destroyed) for each in keys.record().copies] == [
        (copy.id, []), (later.id, [eve.id]),
    ]  # fmt: skip
    assert InstanceKeys(tmp_path / "copy.json", ROOT).find(ada.id) == ada
    with pytest.raises(DecryptionFailed, match="another instance"):
        InstanceKeys(tmp_path / "copy.json", ROOT).find(eve.id)


@pytest.mark.parametrize("member", ["owner", "wrapped", "id"])
def test_a_key_that_was_changed_or_swapped_is_refused(keys: InstanceKeys, member: str) -> None:
    for owner in ("ada", "eve"):
        keys.of(owner)
    record = json.loads(keys.path.read_text("utf-8"))
    one, two = record["keys"]
    one[member], two[member] = two[member], one[member]
    keys.path.write_text(json.dumps(record))
    with pytest.raises(EncryptionKeyInvalid, match="changed"):
        InstanceKeys(keys.path, ROOT).of("ada")


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 2, "instance": "x", "root_key": "y"}'])
def test_a_damaged_file_is_refused(keys: InstanceKeys, text: str) -> None:
    keys.path.write_text(text)
    with pytest.raises(EncryptionKeyInvalid, match="damaged"):
        keys.of("ada")


def test_a_file_that_others_may_read_is_refused(keys: InstanceKeys) -> None:
    keys.path.chmod(0o644)
    with pytest.raises(EncryptionKeyInvalid, match="chmod 600"):
        InstanceKeys(keys.path, ROOT)


def test_tokens_come_from_the_root_key_and_their_number(keys: InstanceKeys) -> None:
    first = keys.token()
    assert InstanceKeys(keys.path, ROOT).token() == first
    second = keys.next_token()
    assert first != second
    assert InstanceKeys(keys.path, ROOT).token() == second
    assert len(first) == 49
