"""The interpreters of messages and of chats: people, conversations and what connects them."""

from __future__ import annotations

import json
from typing import Any

from graphmem.ingest import propose
from graphmem.ingest.child import parsed_here
from graphmem.ingest.document import DocumentLimits
from tests.support.proposals import proposal_of, relationships, types_and_fields

MAIL = """From: Ada <ada@example.org>
To: bob@example.org, Nobody
Cc: Bob <BOB@example.org>
Subject: {0}
Message-ID: <{0}@x>
In-Reply-To: <1@x>
Date: Fri, 03 Jul 2026 08:00:0{0} +0200

Hello.

"""


def test_the_people_of_messages_are_those_with_an_address() -> None:
    proposed = proposal_of(
        "a.mbox", "".join(f"From a Fri Jul  3 08:00:00 2026\n{MAIL.format(n)}" for n in "12")
    )
    people = [fields for entity_type, fields in types_and_fields(proposed) if entity_type == "person"]
    assert people == [
        {"name": "Ada", "email": "ada@example.org"},
        {"email": "bob@example.org"},
        {"name": "Bob", "email": "BOB@example.org"},
    ]
    assert proposed.entities[0].fields["recipients"] == ["bob@example.org", "Nobody", "BOB@example.org"]
    assert {entity.observed_at for entity in proposed.entities if entity.entity_type == "message"} == {
        "2026-07-03T08:00:01+02:00",
        "2026-07-03T08:00:02+02:00",
    }
    # A message that answers itself references nothing.
    assert relationships(proposed) == [
        ("CREATED_BY", "<1@x>", "ada@example.org", {}),
        ("REFERS_TO", "<1@x>", "bob@example.org", {"roles": ["to", "cc"]}),
        ("CREATED_BY", "<2@x>", "ada@example.org", {}),
        ("REFERS_TO", "<2@x>", "bob@example.org", {"roles": ["to", "cc"]}),
        ("REFERENCES", "<2@x>", "<1@x>", {}),
    ]


def test_many_people_of_one_line_have_their_places() -> None:
    people = [f"Name {number} <{number}@example.org>" for number in range(2_000)]
    text = f"Subject: x\nFrom: a@b.c\nDate: x\nTo: {', '.join(people)}\n\nbody\n"
    document = parsed_here(text.encode(), None, "a.eml", DocumentLimits())
    recipients = propose(document).entities[2:]
    spans = [entity.span for entity in recipients if entity.span is not None]
    assert [document.text[span.start : span.end] + ">" for span in spans] == people


def test_conversations_of_one_title_stay_apart() -> None:
    chats = [
        {"uuid": f"c-{number}", "name": "New chat", "chat_messages": [{"uuid": f"m-{number}", "text": "Hi"}]}
        for number in (1, 2)
    ]
    unnamed: dict[str, Any] = {"name": "", "uuid": None, "chat_messages": [{"text": "Hi", "sender": "human"}]}
    proposed = proposal_of("a.json", json.dumps([*chats, unnamed]))
    conversations = [entity for entity in proposed.entities if entity.entity_type == "conversation"]
    assert [(entity.canonical_name, entity.fields["external_id"]) for entity in conversations] == [
        ("New chat", "c-1"),
        ("New chat", "c-2"),
    ]
    assert relationships(proposed) == [("PART_OF", f"m-{n}", "New chat", {}) for n in (1, 2)]
    assert proposed.warnings == ("A conversation has neither an id nor a title: it is left out.",)
