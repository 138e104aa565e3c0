"""Exports of Telegram, Slack, and of Facebook and Instagram: people, conversations and messages.

Each message has its sender by id and by name, and where the file says so the message that it answers, the
time of its last edit, whom it mentions, and the names of its files. Messages of the program itself, such as
that somebody has joined, are left out with a warning.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from typing import Any

from graphmem.ingest.archives import SLACK, exported
from graphmem.ingest.building import Builder, address_after
from graphmem.ingest.document import ParseFailed
from graphmem.ingest.formats import json_values
from graphmem.ingest.formats.chats import Conversations, as_json
from graphmem.ingest.tables import object_of, objects, texts_of, value_at, values_at

OF_PROGRAM = " of the program itself"
MARKUP = re.compile(r"<([@#!]?)([^<>|]+)(?:\|([^<>]*))?>")
"""People, channels and links in a text of Slack."""


def parse_telegram(builder: Builder, data: bytes, name: str) -> None:
    chats = Conversations(builder)
    for file in exported(data, builder).values():
        value = object_of(json_values.value_of(builder, file))
        rooms = [value, *values_at(value, "chats/list/*"), *values_at(value, "left_chats/list/*")]
        rooms = [room for room in objects(rooms) if isinstance(room.get("messages"), list)]
        if file is data and not rooms:
            as_json(builder, data, name)
            return
        people = [object_of(value.get("personal_information")), *values_at(value, "contacts/list/*")]
        for person in objects(people):
            names = [str(person[key]) for key in ("first_name", "last_name") if person.get(key)]
            more = {"phone": person.get("phone_number"), "username": person.get("username")}
            if names:
                chats.person(" ".join(names), id=_telegram_user(person.get("user_id")), **more)
        for room in rooms:
            chats.begin(room.get("name"), f"telegram:{room.get('id')}", prefix=f"telegram:{room.get('id')}:")
            chats.warn_of_members(room["messages"])
            for message in objects(room["messages"]):
                if message.get("type", "message") == "message":
                    _add_telegram(chats, message)
                else:
                    builder.left_out("message", None, str(message.get("action")), OF_PROGRAM)
            chats.end()


def _add_telegram(chats: Conversations, message: dict[str, Any]) -> None:
    written = message.get("text")
    pieces = written if isinstance(written, list) else [written]
    user = _telegram_user(message.get("from_id"))
    mentions = [piece for piece in objects(pieces) if "mention" in str(piece.get("type"))]
    ids = [_telegram_user(piece.get("user_id")) or str(piece.get("text")) for piece in mentions]
    other = {"sender_id": user, "mentions": ids or None}
    if message.get("reply_to_peer_id"):
        other["reply_to"] = None
    message = {**message, "from_id": user, "text": "".join(map(_telegram_text, pieces))}
    chats.message(message, other, chats.text(message))


def _telegram_text(piece: Any) -> str:
    text, address = object_of(piece).get("text", piece), object_of(piece).get("href")
    text = text if isinstance(text, str) else ""
    return f"{text}{address_after(text, address)}" if isinstance(address, str) else text


def _telegram_user(key: Any) -> str | None:
    """Return the id of a person; contacts, mentions and old exports have its number alone."""
    return None if key in (None, "", 0) else f"user{key}" if str(key).isdecimal() else str(key)


def parse_slack(builder: Builder, data: bytes, name: str) -> None:
    chats = Conversations(builder)
    lists: dict[str, list[dict[str, Any]]] = {}
    days: dict[str, list[dict[str, Any]]] = {}
    for path, file in exported(data, builder, SLACK).items():
        kind, folder = SLACK.fullmatch(path).groups()  # pyright: ignore[reportOptionalMemberAccess]
        try:
            rows = objects(json_values.value_of(builder, file))
        except ParseFailed as exc:
            builder.drop(f"{path[:100]} is left out: {exc.reason}")
            continue
        (lists if kind else days).setdefault(kind or folder, []).extend(rows)
    names: dict[str, str] = {}
    for user in lists.get("users", ()):
        profile, key = object_of(user.get("profile")), str(user.get("id"))
        names[key] = str(value_at(user, "real_name|profile/real_name|name") or key)
        chats.person(
            names[key], id=key, email=profile.get("email"), phone=profile.get("phone"),
            job_title=profile.get("title"), username=user.get("name"),
        )  # fmt: skip
    rooms = [room for kind in ("channels", "groups", "dms", "mpims") for room in lists.get(kind, ())]
    ids = {str(room.get("name") or room.get("id")): room for room in rooms}
    for folder, messages in days.items():
        room = ids.get(folder, {})
        people = [names.get(str(each), str(each)) for each in room.get("members") or ()]
        key = f"slack:{room.get('id') or folder}"
        title = room.get("name") or ", ".join(people) or folder
        about = "\n".join(map(str, values_at(room, "topic/value") + values_at(room, "purpose/value")))
        chats.begin(title, key, room.get("created"), prefix=f"{key}:", about=about)
        chats.warn_of_members(messages)
        for message in messages:
            if message.get("subtype") in (None, *chats.layout["said"]):
                _add_slack(chats, message, names)
            else:
                builder.left_out("message", None, str(message["subtype"]), OF_PROGRAM)
        chats.end()


def _add_slack(chats: Conversations, message: dict[str, Any], names: Mapping[str, str]) -> None:
    written = str(message.get("text") or "") or "".join(_texts_of_blocks(message.get("blocks")))
    quoted: list[Any] = []
    for each in objects(message.get("attachments")):
        title, link = (each.get(name) for name in ("title", "title_link"))
        quoted += filter(None, [f"<{link}|{title}>" if title and link else title or link])
        quoted.append(value_at(each, "text|fallback"))
        quoted += [f"{pair.get('title')}: {pair.get('value')}" for pair in objects(each.get("fields"))]
    mentions = [match[2] for match in MARKUP.finditer(written) if match[1] == "@"]
    other: dict[str, Any] = {"mentions": mentions or None}
    if message.get("thread_ts") == message.get("ts"):
        other["reply_to"] = None
    known = names.get(str(message.get("user"))) or value_at(message, "user_profile/real_name")
    inside = [_slack_text(each, names) for each in quoted if isinstance(each, str)]
    chats.message({**message, "known": known}, other, _slack_text(written, names), inside)


def _texts_of_blocks(value: Any) -> Iterator[str]:
    """Yield the texts of the blocks of a message as its text has them: people and links in angle brackets."""
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            key = each.get("user_id") or each.get("channel_id") or each.get("url")
            mark = {"user": "@", "channel": "#"}.get(str(each.get("type")), "")
            label = f"|{each['text']}" if isinstance(each.get("text"), str) else ""
            yield from [f"<{mark}{key}{label}>"] if key else _texts_of_blocks(each.get("text"))
            yield from _texts_of_blocks(each.get("elements") or each.get("fields") or [])
            yield "\n" if str(each.get("type")).startswith(("section", "rich_text_", "header")) else ""


def _slack_text(text: str, names: Mapping[str, str]) -> str:
    """Return a text with the names of people and channels, and with the words and the addresses of links."""

    def shown(match: re.Match[str]) -> str:
        mark, key, label = match.groups()
        if mark:
            return f"{'#' if mark == '#' else '@'}{names.get(key) or label or key}".replace("@@", "@")
        return f"{label}{address_after(label, key)}" if label else key

    return html.unescape(MARKUP.sub(shown, text))


def parse_messenger(builder: Builder, data: bytes, name: str) -> None:
    """Add a conversation of Facebook or Instagram, the earliest message first."""
    chats = Conversations(builder)
    value = object_of(json_values.value_of(builder, data))
    if not isinstance(value.get("messages"), list):
        as_json(builder, data, name)
        return
    for person in texts_of(value.get("participants"), "name"):
        chats.person(person)
    chats.begin(value.get("title"), value.get("thread_path"))
    chats.warn_of_members(value["messages"])
    times = [message.get("timestamp_ms") for message in objects(value["messages"])]
    sent = [each / 1_000 if type(each) is int else None for each in times]
    for at, message in sorted(
        zip(sent, objects(value["messages"]), strict=True), key=lambda each: each[0] or 0
    ):
        message = {**message, "sent": at}
        chats.message(message, {}, chats.text(message))
    chats.end()
