"""Who wrote, as a person reads it."""

from __future__ import annotations

import uuid

from graphmem.model.attribution import agent_row, described, encode

OWNER = "00000000-0000-0000-0000-000000000001"


def test_who_wrote_is_told_by_what_is_proved() -> None:
    signed = {"thumbprint": "abcdefghijklmnop", "method": "none", "account_name": "studio"}
    for by, text in (
        (None, "unattributed, by app"),
        ({"method": "none", "account_name": "local"}, "local, by app"),
        ({"method": "token", "account_name": "local"}, "static token of local, by app"),
        (
            {"method": "oauth", "account_name": "ada", "credential_name": "Claude"},
            "client `Claude` of ada, by app",
        ),
        (
            signed | {"claimed_subject": "the administrator"},
            "agent abcdefghijkl, signed, with studio, by app",
        ),
        (
            signed | {"subject": "aauth:bot@example.org"},
            "agent aauth:bot@example.org, verified, with studio, by app",
        ),
    ):
        assert described(by, "app") == text


def test_an_id_finds_one_writer_though_others_take_it_for_a_name() -> None:
    key, connection, account = "key_" + "0" * 16, "con_" + "1" * 16, str(uuid.uuid4())
    by = {"account": account, "method": "key", "credential": key}
    other = {
        "account": "acc", "account_name": account, "method": "key", "credential": "key_",
        "credential_name": key,
    }  # fmt: skip
    mine, theirs = (agent_row(OWNER, "", connection, encode(each))["properties"] for each in (by, other))
    assert mine["writers"] == [f"account:{account}", f"key:{key}"]
    assert theirs["writers"] == ["account:acc", "key:key_"]


def test_a_writer_is_one_whatever_token_it_sends_and_is_found_by_what_is_proved() -> None:
    by = {"account": "acc", "thumbprint": "t" * 43, "claimed_subject": "somebody", "subject": "bot"}
    first, second = (agent_row(OWNER, "t" * 43, "app", encode(by | {"token_id": each})) for each in "ab")
    assert first == second
    assert first["properties"]["writers"] == [
        "account:acc",
        "agent:bot",
        f"agent:{'t' * 43}",
        "client:app",
    ]
