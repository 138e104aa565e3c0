"""Root keys: their words, where they are kept, and what is derived from them for ever."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from graphmem.errors import EncryptionKeyInvalid, EncryptionKeyMissing
from graphmem.sealing import InstanceKeys, RootKey, keys_of
from graphmem.sealing.root_key import derived, forget_root_key, keep_root_key, key_path, stored_root_key
from graphmem.settings import Settings, load

LEGAL = (
    "legal winner thank year wave sausage worth useful " * 2
    + "legal winner thank year wave sausage worth title"
)
VECTORS = {
    "00" * 32: "abandon " * 23 + "art",
    "7f" * 32: LEGAL,
    "80" * 32: "letter advice cage absurd amount doctor acoustic avoid " * 2
    + "letter advice cage absurd amount doctor acoustic bless",
    "ff" * 32: "zoo " * 23 + "vote",
}
"""Entropy and words of the test vectors that BIP-39 names."""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load(env="test", data_dir=tmp_path / "data", root_key_dir=tmp_path / "keys")


@pytest.mark.parametrize("secret", VECTORS)
def test_words_lead_to_the_key_and_back(secret: str) -> None:
    root = RootKey.read(f"  {VECTORS[secret].upper()}\n")
    assert (root.secret.hex(), root.words) == (secret, VECTORS[secret])
    assert RootKey.read(secret) == root
    assert secret not in repr(root)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (LEGAL.replace("title", "tittle"), "word 24"),
        (LEGAL.replace("winner thank", "thank winner", 1), "checksum"),
        (LEGAL.removesuffix(" title"), "23"),
        ("ab" * 31, "64 hex"),
        ("", "24"),
    ],
)
def test_words_that_are_none_say_which_without_a_word(words: str, why: str) -> None:
    with pytest.raises(EncryptionKeyInvalid, match=why) as caught:
        RootKey.read(words)
    assert not any(word in str(caught.value).split() for word in ("tittle", "sausage", "winner"))


def test_what_is_derived_never_changes() -> None:
    root = RootKey.read("7f" * 32)
    assert root.id == "ff129d07"
    assert derived(root.secret, "files", salt=b"instance").hex()[:16] == "42de6b521789c1bf"


def test_a_key_is_found_in_its_file_or_in_the_environment(settings: Settings) -> None:
    root, other = RootKey.new(), RootKey.new()
    with pytest.raises(EncryptionKeyMissing, match=root.id):
        stored_root_key(settings, root.id)
    path = Path(keep_root_key(settings, root, "file"))
    assert (path, path.stat().st_mode & 0o777) == (key_path(settings, root.id), 0o600)
    assert stored_root_key(settings, root.id) == root
    named = settings.model_copy(
        update=load(env="test", root_key=other.words).model_dump(include={"root_key"})
    )
    with pytest.raises(EncryptionKeyInvalid, match=f"{other.id}.*{root.id}"):
        stored_root_key(named, root.id)
    path.write_text(other.secret.hex())
    with pytest.raises(EncryptionKeyInvalid, match=other.id):
        stored_root_key(settings, root.id)
    os.chmod(path, 0o640)
    with pytest.raises(EncryptionKeyInvalid, match="chmod 600"):
        stored_root_key(settings, root.id)
    forget_root_key(settings, root.id)
    assert not path.exists()


def test_a_key_is_not_kept_beside_what_it_opens(settings: Settings) -> None:
    inside = settings.model_copy(update={"root_key_dir": settings.data_path / "keys"})
    with pytest.raises(EncryptionKeyInvalid, match="GRAPHMEM_ROOT_KEY_DIR"):
        keep_root_key(inside, RootKey.new(), "file")
    assert not settings.data_path.exists()


def test_an_instance_is_sealed_if_it_has_a_key_file(settings: Settings) -> None:
    assert keys_of(settings) is None
    root = RootKey.new()
    InstanceKeys.create(settings.keys_path, root)
    with pytest.raises(EncryptionKeyMissing, match=root.id):
        keys_of(settings)
    keep_root_key(settings, root, "file")
    keys = keys_of(settings)
    assert keys is not None
    assert keys.record().root_key == root.id


def test_a_root_key_without_a_key_file_is_refused(settings: Settings) -> None:
    lost = load(env="test", data_dir=settings.data_path, root_key=RootKey.new().words)
    with pytest.raises(EncryptionKeyInvalid, match="GRAPHMEM_KEY_FILE"):
        keys_of(lost)
