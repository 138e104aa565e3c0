"""Exports of Telegram, Slack, and of Facebook and Instagram: people, conversations and messages.

Each message has its sender by id and by name, and where the file says so the message that it answers, the
time of its last edit, whom it mentions, and the names of its files. Messages of the program itself, such as
that somebody has joined, are left out with a warning.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from graphmem.ingest.archives import SLACK, exported
from graphmem.ingest.building import Builder
from graphmem.ingest.document import ParseFailed
from graphmem.ingest.formats import json_values
from graphmem.ingest.formats.chats import (
    Conversations,
    as_json,
    moment,
    object_of,
    objects,
    texts_of,
    warn_of_members,
)
from graphmem.ingest.links import address_after

TELEGRAM_LISTS = ("chats", "left_chats", "contacts", "list", "messages")
MEDIA = ("file_name", "file", "photo")
"""Members of a message of Telegram that name its file; the first that there is counts."""
SAID = (None, "bot_message", "file_share", "me_message", "thread_broadcast", "reply_broadcast")
"""The subtypes of messages of Slack that people and bots have written."""
MARKUP = re.compile(r"<([@#!]?)([^<>|]+)(?:\|([^<>]*))?>")
"""People, channels and links in a text of Slack."""
READ = {
    "telegram": "id type date date_unixtime edited edited_unixtime from from_id text text_entities"
    " file_name file photo poll contact_information location_information sticker_emoji"
    " reply_to_message_id forwarded_from",
    "slack": "type subtype user text ts thread_ts edited files attachments blocks user_profile username"
    " bot_id client_msg_id team user_team source_team parent_user_id reply_count replies reply_users"
    " latest_reply reply_users_count subscribed last_read",
    "messenger": "sender_name timestamp_ms content share photos videos files audio_files gifs type"
    " is_geoblocked_for_viewer is_unsent_image_by_messenger_kid_parent",
}
"""The members of messages that are read, or say what others say: those of others are counted in a warning."""
FILES = ("photos", "videos", "files", "audio_files", "gifs")
"""Members of a message of Facebook or Instagram that are its files."""


def parse_telegram(builder: Builder, data: bytes, name: str) -> None:
    chats, left_out = Conversations(builder), Counter[str]()
    for file in exported(data, builder).values():
        value = object_of(json_values.value_of(builder, file, TELEGRAM_LISTS))
        groups = [objects(object_of(value.get(key)).get("list")) for key in ("chats", "left_chats")]
        rooms = [value, *groups[0], *groups[1]]
        if file is data and not any(isinstance(chat.get("messages"), list) for chat in rooms):
            as_json(builder, data, name)
            return
        contacts = objects(object_of(value.get("contacts")).get("list"))
        for person in (object_of(value.get("personal_information")), *contacts):
            names = [str(person[key]) for key in ("first_name", "last_name") if person.get(key)]
            if names:
                key = _telegram_user(person.get("user_id"))
                chats.person(
                    " ".join(names), id=key, phone=person.get("phone_number"), username=person.get("username")
                )
        for chat in rooms:
            if isinstance(chat.get("messages"), list):
                chats.begin(chat.get("name"), f"telegram:{chat.get('id')}", None, None)
                warn_of_members(builder, chat["messages"], READ["telegram"])
                for message in objects(chat["messages"]):
                    if message.get("type", "message") == "message":
                        _telegram_message(chats, message, f"telegram:{chat.get('id')}:")
                    else:
                        left_out[str(message.get("action"))] += 1
                chats.end()
    _warn(builder, left_out)


def _telegram_message(chats: Conversations, message: Mapping[str, Any], prefix: str) -> None:
    pieces = message.get("text")
    pieces = pieces if isinstance(pieces, list) else [pieces]
    texts = [piece for piece in map(_telegram_text, pieces) if piece]
    poll, contact = object_of(message.get("poll")), object_of(message.get("contact_information"))
    beside = [poll.get("question"), *texts_of(poll.get("answers"), "text"), *contact.values()]
    beside += [message.get("sticker_emoji"), *object_of(message.get("location_information")).values()]
    media = next((message[key] for key in MEDIA if isinstance(message.get(key), str)), None)
    reply, answers = message.get("reply_to_message_id"), message.get("reply_to_peer_id")
    more = {
        "sender_id": _telegram_user(message.get("from_id")),
        "reply_to": f"{prefix}{reply}" if reply and not answers else None,
        "edited_at": _telegram_time(message, "edited"),
        "forwarded_from": message.get("forwarded_from"),
        "mentions": [_mentioned(piece) for piece in objects(pieces) if "mention" in str(piece.get("type"))]
        or None,
        "attachments": [media.rpartition("/")[2]] if media and not media.startswith("(") else None,
    }
    text = "\n".join(["".join(texts), *(str(each) for each in beside if each)])
    sender = message.get("from") or more["sender_id"]
    chats.message(sender, text, f"{prefix}{message.get('id')}", _telegram_time(message, "date"), more)


def _telegram_text(piece: Any) -> str:
    """Return a piece of a text, and where it leads."""
    text, address = object_of(piece).get("text", piece), object_of(piece).get("href")
    text = text if isinstance(text, str) else ""
    return f"{text}{address_after(text, address)}" if isinstance(address, str) else text


def _telegram_user(key: Any) -> str | None:
    """Return the id of a person; contacts, mentions and old exports have its number alone."""
    return None if key in (None, "", 0) else f"user{key}" if str(key).isdecimal() else str(key)


def _mentioned(piece: Mapping[str, Any]) -> str:
    return _telegram_user(piece.get("user_id")) or str(piece.get("text"))


def _telegram_time(message: Mapping[str, Any], name: str) -> str | None:
    seconds = str(message.get(f"{name}_unixtime"))
    return moment(int(seconds) if seconds.isdecimal() else message.get(name))


def parse_slack(builder: Builder, data: bytes, name: str) -> None:
    chats, left_out = Conversations(builder), Counter[str]()
    lists: dict[str, list[dict[str, Any]]] = {}
    days: dict[str, list[dict[str, Any]]] = {}
    for path, file in exported(data, builder, SLACK).items():
        kind, folder = SLACK.fullmatch(path).groups()  # pyright: ignore[reportOptionalMemberAccess]
        try:
            rows = objects(json_values.value_of(builder, file))
        except ParseFailed as exc:
            builder.warn(f"{path[:100]} is left out: {exc.reason}")
            continue
        (lists if kind else days).setdefault(kind or folder, []).extend(rows)
    names: dict[str, str] = {}
    for user in lists.get("users", ()):
        profile, key = object_of(user.get("profile")), str(user.get("id"))
        names[key] = str(user.get("real_name") or profile.get("real_name") or user.get("name") or key)
        chats.person(
            names[key], id=key, email=profile.get("email"), phone=profile.get("phone"),
            job_title=profile.get("title"), username=user.get("name"),
        )  # fmt: skip
    rooms = [room for kind in ("channels", "groups", "dms", "mpims") for room in lists.get(kind, ())]
    ids = {str(room.get("name") or room.get("id")): room for room in rooms}
    for folder, messages in days.items():
        room = ids.get(folder, {})
        people = [names.get(str(each), str(each)) for each in room.get("members") or ()]
        title = room.get("name") or ", ".join(people) or folder
        chats.begin(title, f"slack:{room.get('id') or folder}", room.get("created"), None)
        warn_of_members(builder, messages, READ["slack"])
        for message in messages:
            if message.get("subtype") in SAID:
                _slack_message(chats, message, names, f"slack:{room.get('id') or folder}:")
            else:
                left_out[str(message["subtype"])] += 1
        chats.end()
    _warn(builder, left_out)


def _slack_message(
    chats: Conversations, message: Mapping[str, Any], names: Mapping[str, str], prefix: str
) -> None:
    sent, thread, user = message.get("ts"), message.get("thread_ts"), message.get("user")
    known = names.get(str(user)) or object_of(message.get("user_profile")).get("real_name")
    written = str(message.get("text") or "")
    quoted = [each.get("text") or each.get("fallback") for each in objects(message.get("attachments"))]
    inside = [_slack_text(each, names) for each in quoted if isinstance(each, str)]
    more = {
        "sender_id": str(user or message.get("bot_id") or "") or None,
        "reply_to": f"{prefix}{thread}" if thread and thread != sent else None,
        "edited_at": moment(_seconds(object_of(message.get("edited")).get("ts"))),
        "mentions": [match[2] for match in MARKUP.finditer(written) if match[1] == "@"] or None,
        "attachments": texts_of(message.get("files"), "name") or None,
    }
    sender = known or message.get("username") or user or message.get("bot_id")
    text = _slack_text(written, names)
    chats.message(sender, text, f"{prefix}{sent}", _seconds(sent), more, inside)


def _slack_text(text: str, names: Mapping[str, str]) -> str:
    """Return a text with the names of people and channels, and with the words and the addresses of links."""

    def shown(match: re.Match[str]) -> str:
        mark, key, label = match.groups()
        if mark:
            return f"{'#' if mark == '#' else '@'}{names.get(key) or label or key}".replace("@@", "@")
        return f"{label}{address_after(label, key)}" if label else key

    return html.unescape(MARKUP.sub(shown, text))


def _seconds(value: Any) -> float | None:
    return float(value) if re.fullmatch(r"\d{1,12}(?:\.\d{1,9})?", str(value)) else None


def parse_messenger(builder: Builder, data: bytes, name: str) -> None:
    """Add a conversation of Facebook or Instagram, the earliest message first."""
    chats = Conversations(builder)
    value = object_of(json_values.value_of(builder, data, ("messages",)))
    if not isinstance(value.get("messages"), list):
        as_json(builder, data, name)
        return
    for person in texts_of(value.get("participants"), "name"):
        chats.person(person)
    chats.begin(value.get("title"), value.get("thread_path"), None, None)
    warn_of_members(builder, value["messages"], READ["messenger"])
    for message in sorted(objects(value["messages"]), key=lambda each: _milliseconds(each) or 0):
        share = object_of(message.get("share"))
        texts = [message.get("content"), share.get("share_text"), share.get("link")]
        files = [uri for key in FILES for uri in texts_of(message.get(key), "uri")]
        more = {"attachments": [uri.rpartition("/")[2] for uri in files] or None}
        milliseconds = _milliseconds(message)
        sent = None if milliseconds is None else milliseconds / 1_000
        text = "\n".join(each for each in texts if isinstance(each, str))
        chats.message(message.get("sender_name"), text, None, sent, more)
    chats.end()


def _milliseconds(message: Mapping[str, Any]) -> int | None:
    value = message.get("timestamp_ms")
    return value if type(value) is int else None


def _warn(builder: Builder, left_out: Mapping[str, int]) -> None:
    """Say how many messages of the program itself are left out."""
    if left_out:
        kinds = ", ".join(f"{count} {kind[:40]}" for kind, count in left_out.items())
        builder.warn(f"TEXT_NOT_READ: messages of the program itself: {kinds[:400]}.")
