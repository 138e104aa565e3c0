"""The interpreters of messages and of chats: people, conversations and what connects them."""

from __future__ import annotations

import io
import json
import re
import zipfile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.ingest import Proposal, propose
from graphmem.ingest.building import normal
from graphmem.ingest.child import parsed_here
from graphmem.ingest.document import DocumentLimits, ParseFailed
from graphmem.ingest.formats.json_values import mend, unescaped
from tests.ingest.goldens import FOLDER
from tests.support.proposals import check_storable, proposal_of, relationships, types_and_fields
from tests.support.walks import walk_over

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
    assert proposed.warnings == ("LEFT_OUT: A conversation has neither an id nor a title: it is left out.",)


def zipped(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return stream.getvalue()


def test_hidden_messages_are_marked_and_what_the_user_tells_the_program_is_kept() -> None:
    def node(key: str, content: Any, hidden: bool) -> dict[str, Any]:
        metadata = {"is_visually_hidden_from_conversation": True} if hidden else None
        message = {"id": key, "author": {"role": "user"}, "content": content, "metadata": metadata}
        return {"message": message, "parent": None, "children": []}

    context = {"user_profile": "I am Ada", "user_instructions": "Be short"}
    spoken = {"parts": [{"content_type": "audio_transcription", "text": "Which paint?"}]}
    mapping = {"a": node("a", context, True), "b": node("b", spoken, False)}
    chat = [{"title": None, "create_time": 1, "id": "c", "mapping": mapping}]
    conversation, told, asked = proposal_of("conversations.json", json.dumps(chat)).entities
    assert (told.fields["content"], told.fields["hidden"]) == ("I am Ada\nBe short", True)
    assert (asked.fields["content"], "hidden" in asked.fields) == ("Which paint?", False)
    assert conversation.canonical_name == asked.canonical_name == "Which paint?"


def test_what_a_model_thinks_is_said_by_nobody() -> None:
    def node(key: str, content: Any) -> dict[str, Any]:
        return {"message": {"id": key, "author": {"role": "assistant"}, "content": content}, "parent": None}

    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "Weighing", "content": "hidden idea"}]}
    recap = {"content_type": "reasoning_recap", "content": "hidden idea for 5 s"}
    mapping = {"a": node("a", thoughts), "b": node("b", recap), "c": node("c", {"parts": ["Oil."]})}
    tagged = {"id": "d", "role": "assistant", "parentId": None, "childrenIds": []}
    tagged["content"] = '<details type="reasoning" done="true">hidden idea</details>\nOil.'
    spoken = [{"type": "thinking", "thinking": "hidden idea"}, {"type": "text", "text": "Oil."}]
    exports: list[Any] = [
        {"title": "T", "create_time": 1, "id": "c", "mapping": mapping},
        {"title": "T", "id": "c", "chat": {"history": {"currentId": "d", "messages": {"d": tagged}}}},
        {
            "name": "T",
            "uuid": "c",
            "chat_messages": [{"uuid": "m", "sender": "assistant", "content": spoken}],
        },
    ]
    for chat in exports:
        document = parsed_here(json.dumps([chat]).encode(), None, "chats.json", DocumentLimits())
        _, message = propose(document).entities
        assert (message.fields["content"], message.fields["sender"]) == ("Oil.", "assistant")
        assert "hidden idea" in document.text
        assert document.warnings == ("Thoughts of the model stand in the text alone: nobody said them.",)


def test_what_an_assistant_asks_of_tools_is_counted() -> None:
    result = {"type": "tool_result", "content": [{"type": "text", "text": "Tide at nine"}]}
    content = [{"type": "text", "text": "High water."}, result]
    chat = {
        "name": "T",
        "uuid": "c",
        "chat_messages": [{"uuid": "m", "sender": "assistant", "content": content}],
    }
    document = parsed_here(json.dumps([chat]).encode(), None, "chats.json", DocumentLimits())
    assert document.warnings == ("TEXT_NOT_READ: 1 tool_result of a message, 12 characters.",)


def test_the_text_of_an_attachment_stays_with_its_message() -> None:
    attachments = [{"file_name": "a.txt", "extracted_content": "The lease ends in May."}]
    message = {"uuid": "m", "sender": "human", "text": "See this", "attachments": attachments}
    chat = [{"uuid": "c", "name": "Flat", "chat_messages": [message, {**message, "uuid": "n", "text": ""}]}]
    _, first, second = proposal_of("conversations.json", json.dumps(chat)).entities
    assert first.fields["attachments_text"] == second.fields["attachments_text"] == "The lease ends in May."
    assert (first.fields["attachments"], second.canonical_name) == (["a.txt"], "The lease ends in May.")


def test_a_message_that_is_only_a_file_is_kept() -> None:
    claude = {
        "uuid": "m",
        "sender": "human",
        "text": "",
        "files": [{"file_name": "a.png"}, {"file_name": "b.png"}],
    }
    chat = {"uuid": "c", "name": "Flat", "chat_messages": [claude, {**claude, "uuid": "n", "files": []}]}
    author, metadata = {"role": "user"}, {"attachments": [{"name": "a.png"}, {"name": "b.png"}]}
    node = {"message": {"id": "m", "author": author, "content": {"parts": [""]}, "metadata": metadata}}
    for export in (chat, {"title": "Flat", "create_time": 1, "id": "c", "mapping": {"a": node}}):
        _, *messages = proposal_of("conversations.json", json.dumps([export])).entities
        names = [(message.canonical_name, message.fields["attachments"]) for message in messages]
        assert names == [("a.png, b.png", ["a.png", "b.png"])]


def test_the_chats_in_the_archive_of_an_export_are_read_and_a_damaged_one_is_told() -> None:
    chat = (FOLDER / "files" / "chatgpt.json").read_bytes()
    data = zipped({"conversations-000.json": chat, "conversations-001.json": chat, "user.json": b"{}"})
    document = parsed_here(data, "application/zip", "export.zip", DocumentLimits())
    assert (document.format, document.media_type) == ("chatgpt", "application/zip")
    once = parsed_here(chat, None, "conversations.json", DocumentLimits())
    assert len(document.parts) == 2 * len(once.parts)
    place = data.rindex(b"mapping", 0, data.index(b"user.json"))
    damaged = parsed_here(data[:place] + b"M" + data[place + 1 :], None, "export.zip", DocumentLimits())
    assert len(damaged.parts) == len(once.parts)
    assert "conversations-001.json is damaged" in damaged.warnings[0]
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b" " * (50 << 20))
    with pytest.raises(ParseFailed, match="inflates"):
        parsed_here(bomb.getvalue(), None, "export.zip", DocumentLimits())
    whatsapp = zipped({"_chat.txt": b"[01.07.26, 10:15:30] Ada: Hi\n"})
    assert parsed_here(whatsapp, None, "a.zip", DocumentLimits()).title == "WhatsApp chat of Ada"


@walk_over(
    "text, times, warnings",
    [
        ("[13.06.26, 21:04:05] Ada: Hi\n", ["2026-06-13T21:04:05Z"], 1),
        ("[6/13/26, 9:04:05 PM] Ada: Hi\n", ["2026-06-13T21:04:05Z"], 1),
        (
            "01/07/26, 10:00 - Ada: Hi\n02/06/26, 10:00 - Ada: Ho\n",
            ["2026-01-07T10:00:00Z", "2026-02-06T10:00:00Z"],
            1,
        ),
        ("01/07/26, 10:00 - Ada: Hi\n", ["2026-07-01T10:00:00Z"], 2),
        ("1/7/26, 9:15 p. m. - Ada: Hi\n", ["2026-07-01T21:15:00Z"], 2),
        ("1/7/26, 9:15 PM - Ada: Hi\n", ["2026-01-07T21:15:00Z"], 2),
        (
            "13/7/26, 12:15 π.μ. - A: B\n13/7/26, 9:15 μ.μ. - A: B\n",
            [f"2026-07-13T{h}:15:00Z" for h in ("00", "21")],
            1,
        ),
        (
            "2026/7/1, 中午11:15 - A: B\n2026/7/1, 中午1:15 - A: B\n",
            [f"2026-07-01T{h}:15:00Z" for h in (11, 13)],
            1,
        ),
        ("2026/07/01, 10:00 - Ada: Hi\n2026/07/01, 10:00 - Ada: Ho", ["2026-07-01T10:00:00Z"] * 2, 2),
    ],
)
def test_the_times_of_a_whatsapp_chat_are_in_the_order_that_fits(
    text: str, times: list[str], warnings: int
) -> None:
    document = parsed_here(text.encode(), None, "_chat.txt", DocumentLimits())
    messages = [entity for entity in propose(document).entities if entity.entity_type == "message"]
    assert [entity.fields["sent_at"] for entity in messages] == times
    assert len(document.warnings) == warnings, document.warnings


@walk_over(
    "line",
    [
        "13/06/2026 21:04 - Ada: Hi",
        "2026-06-13 21:04 - Ada: Hi",
        "[13-06-2026 21:04:00] Ada: Hi",
        "13/06/2026 à 21:04 - Ada: Hi",
        "13.6.2026 klo 21.04 - Ada: Hi",
        "13.06.2026 г., 21:04 - Ada: Hi",
        "2026. 06. 13. 21:04 - Ada: Hi",
        "2026. 6. 13. 오후 9:04 - Ada: Hi",
        "2026/6/13 下午9:04 - Ada: Hi",
        "\u200f١٣\u200f/٦\u200f/٢٠٢٦، ٩:٠٤ م - Ada: Hi",
    ],
)
def test_a_chat_of_whatsapp_in_any_language_is_known_by_its_name(line: str) -> None:
    text = f"{line}\n01.07.2026, 10:00 - Boat\n"
    sent = [
        entity.fields.get("sent_at")
        for name in ("Chat de WhatsApp con Ada.txt", "_chat.txt")
        for entity in proposal_of(name, text).entities
        if entity.fields.get("content") == "Hi\n01.07.2026, 10:00 - Boat"
    ]
    assert sent == ["2026-06-13T21:04:00Z"] * 2
    diary = parsed_here(b"13.06.2026 21:04 - Call: Ada\n", None, "diary.txt", DocumentLimits())
    notes = parsed_here(b"13.06.2026: Hi\n", None, "WhatsApp notes.txt", DocumentLimits())
    assert diary.format == notes.format == "text"


def test_the_senders_of_a_whatsapp_chat_are_persons() -> None:
    lines = ["21:04 - Ada changed the subject", "21:05 - Ada: Hi\nyou", "21:06 - +47 400 00 901: Ho"]
    text = "".join(f"13/06/26, {line}\n" for line in lines)
    proposed = proposal_of("chat.txt", text)
    persons = [dict(entity.fields) for entity in proposed.entities if entity.entity_type == "person"]
    assert persons == [{"name": "Ada"}, {"phone": "+47 400 00 901"}]
    assert proposed.entities[1].fields["content"] == "Hi\nyou"
    assert [link.relationship_type for link in proposed.relationships] == ["PART_OF", "CREATED_BY"] * 2


def test_what_a_whatsapp_chat_tells_of_its_group_is_no_message() -> None:
    lines = [
        '08:00 - Rosa Blum hat die Gruppe "Familie: Blum" erstellt', "08:01 - Rosa Blum: Hallo",
        "08:02 - Lea: Hi", "08:03 - Lea hat das Gruppenbild geändert: neu", "08:04 - Lea Marie: Ho",
    ]  # fmt: skip
    proposed = proposal_of("chat.txt", "".join(f"15.11.25, {line}\n" for line in lines))
    persons = [entity.fields["name"] for entity in proposed.entities if entity.entity_type == "person"]
    assert persons == ["Rosa Blum", "Lea", "Lea Marie"]


def people_and_messages(file_name: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]], Proposal]:
    """Return the people and the messages that come of a fixture, and all that comes of it."""
    data = (FOLDER / "files" / file_name).read_bytes()
    proposed = propose(parsed_here(data, None, file_name, DocumentLimits()))
    check_storable(proposed)
    kinds = types_and_fields(proposed)
    people, messages = ([f for kind, f in kinds if kind == wanted] for wanted in ("person", "message"))
    return people, messages, proposed


def test_telegram_has_people_mentions_replies_and_edits() -> None:
    people, messages, proposed = people_and_messages("telegram.json")
    assert people == [
        {"name": "Jorun Haugland", "phone": "+47 900 00 111", "telegram_id": "user77"},
        {"name": "Marit Solvang", "phone": "+47 900 00 222", "telegram_id": "user41"},
        # Another person of the same name.
        {"name": "Marit Solvang", "telegram_id": "user42"},
        {"name": "user43", "telegram_id": "user43"},
    ]
    assert messages[0] == {
        "message_id": "telegram:99:5", "sender": "Marit Solvang", "sent_at": "2025-11-05T07:00:00+00:00",
        "content": "The slip is free, Jorun see the plan <https://slip.example.org/plan>",
        "edited_at": "2025-11-05T07:10:00+00:00", "attachments": ["plan.pdf"], "channel": "telegram",
        "conversation": "Boat club", "mentions": ["Jorun Haugland"],
    }  # fmt: skip
    assert messages[2]["content"] == "Which day?\nMonday\nTuesday"
    marit, namesake = [entity for entity in proposed.entities if entity.fields.get("name") == "Marit Solvang"]
    assert (marit.identified_by, namesake.identified_by) == (None, (("telegram_id",),))
    old = {
        "id": 12,
        "messages": [{"id": 1, "date": "2020-01-01T10:00:00", "from": "Ada", "from_id": 45, "text": ""}],
    }
    old["messages"][0] |= {"text": "Hi", "reactions": [{"emoji": "x"}]}
    document = parsed_here(json.dumps(old).encode(), None, "result.json", DocumentLimits())
    assert propose(document).entities[-1].fields == {"name": "Ada", "telegram_id": "user45"}
    assert document.warnings == ("TEXT_NOT_READ: 1 member (reactions) of messages.",)
    found = relationships(proposed)
    assert ("REFERS_TO", "telegram:99:5", "Jorun Haugland", {"roles": ["mention"]}) in found
    assert ("REFERENCES", "telegram:99:6", "telegram:99:5", {}) in found


def test_slack_has_the_names_of_people_links_threads_and_bots() -> None:
    people, messages, proposed = people_and_messages("slack.zip")
    assert people[:2] == [
        {"name": "Tove Nygaard", "email": "tove@nygaard.example", "job_title": "skipper", "username": "tove",
         "slack_id": "U01AB"},
        {"name": "Ebbe Rask", "username": "ebbe", "slack_id": "U02CD"},
    ]  # fmt: skip
    booked = "@Ebbe Rask the crane is booked for <9 am> see <https://crane.example.org> #harbour @here"
    assert [(each["sender"], each.get("content"), each["conversation"]) for each in messages] == [
        ("Tove Nygaard", "Only you", "Tove Nygaard, Ebbe Rask"),
        ("Tove Nygaard", booked, "harbour"),
        ("Ebbe Rask", "thanks", "harbour"),
        ("weather", None, "harbour"),
    ]
    assert messages[3]["attachments_text"] == "Gale from https://w.example.org"
    assert (messages[1]["edited_at"], messages[1]["attachments"]) == (
        "2025-06-01T06:40:30+00:00", ["crane.pdf"]
    )  # fmt: skip
    found = relationships(proposed)
    crane, thanks = "slack:C1:1748760000.000200", "slack:C1:1748760060.000100"
    assert ("REFERS_TO", crane, "Ebbe Rask", {"roles": ["mention"]}) in found
    assert ("REFERENCES", thanks, crane, {}) in found


def test_slack_has_the_topic_of_a_channel_and_what_bots_post() -> None:
    room = {"id": "C1", "name": "yard", "topic": {"value": "Boats"}, "purpose": {"value": "All of the yard"}}
    card: dict[str, Any] = {"title": "Build 7", "title_link": "https://ci.example/7", "text": "failed"}
    card["fields"] = [{"title": "Branch", "value": "main"}]
    words = [
        {"type": "text", "text": "See "}, {"type": "link", "url": "https://q.example", "text": "the quay"},
        {"type": "user", "user_id": "U1"},
    ]  # fmt: skip
    rich = {"type": "rich_text_section", "elements": words}
    posts = [
        {"type": "message", "subtype": "bot_message", "bot_id": "B1", "ts": "1.1", "attachments": [card]},
        {"type": "message", "bot_id": "B1", "ts": "1.2", "blocks": [{"text": {"text": "Gale warning"}}]},
        {
            "type": "message",
            "bot_id": "B1",
            "ts": "1.3",
            "blocks": [{"type": "rich_text", "elements": [rich]}],
        },
    ]
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, value in {"users": [], "channels": [room], "yard/2026-03-01": posts}.items():
            archive.writestr(f"{name}.json", json.dumps(value))
    document = parsed_here(stream.getvalue(), None, "slack.zip", DocumentLimits())
    conversation, *messages = (
        dict(each.fields) for each in propose(document).entities if each.entity_type != "person"
    )
    assert conversation["description"] == "Boats\nAll of the yard"
    assert messages[0]["attachments_text"] == "Build 7 <https://ci.example/7>\n\nfailed\n\nBranch: main"
    assert messages[2]["content"] == "See the quay <https://q.example>@U1"
    assert messages[1]["content"] == "Gale warning"


@given(st.text(st.sampled_from('aé\\u0301Øł日😀\\u2028\\u0001\\\\u0"\\ud800')))
def test_escaped_letters_are_read_as_they_are(text: str) -> None:
    written = unescaped(json.dumps({"a": text}))
    assert json.loads(written)["a"] == text or normal(json.loads(written)["a"]) == normal(text)
    assert not {"\\u00e9", "\\u65e5", "\\ud83d\\ude00"} & {*re.findall(r"(?<!\\)\\u(?:[0-9a-f]{4})", written)}


def test_letters_that_went_through_the_wrong_encoding_twice_are_mended() -> None:
    people, messages, _ = people_and_messages("messenger.json")
    assert [person["name"] for person in people] == ["Zoë Ødegård", "Božena"]
    assert [each["content"] for each in messages] == [
        "Grüße aus Tromsø\nhttps://ferry.example.org", "Díky 🐧"
    ]  # fmt: skip
    wrong = json.dumps([{"name": "Zoë".encode().decode("latin-1")}])
    assert mend(wrong) == '[{"name": "Zoë"}]'
    for right in ('["Zoë", "Ã«"]', '["\\u017d", "\\u00c3\\u00ab"]', '["C:\\\\u00c3\\\\u00ab"]', '["Zoe"]'):
        assert mend(right) == right
