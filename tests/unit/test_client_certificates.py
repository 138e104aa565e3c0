"""The client loads the certificates of authorities where something is encrypted, and nowhere else."""

from __future__ import annotations

import ssl
from typing import Any

import pytest

from graphmem.client import Client


@pytest.mark.parametrize(
    ("address", "are_loaded"), [("https://memory.example.org", True), ("http://127.0.0.1:3080", False)]
)
def test_certificates_are_loaded_where_something_is_encrypted(
    monkeypatch: pytest.MonkeyPatch, address: str, are_loaded: bool
) -> None:
    made: list[ssl.SSLContext] = []
    create = ssl.create_default_context

    def noted(*arguments: Any, **options: Any) -> ssl.SSLContext:
        made.append(create(*arguments, **options))
        return made[-1]

    monkeypatch.setattr(ssl, "create_default_context", noted)
    Client(address, None, "test").close()
    assert bool(made) is are_loaded
    assert all(each.verify_mode == ssl.CERT_REQUIRED and each.check_hostname for each in made)
