"""What agents give to a hook on stdin, and what they expect on stdout."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

TRANSCRIPT_BYTES = 4_000_000
"""Bytes at the end of a transcript in which the last turn is looked for."""


@dataclass(frozen=True, slots=True)
class HookInput:
    """What a hook is told.

    Attributes:
        session: the id of the agent's session.
        turn: the id of the prompt with its answer; empty where the agent has none.
        folder: the folder in which the agent works.
        event: the agent's own name of the event.
    """

    agent: str
    session: str
    turn: str
    folder: Path
    event: str
    prompt: str
    answer: str

    @property
    def key(self) -> str:
        """The id of the turn: the agent's own, else made of its texts, so that it is the same each time."""
        texts = f"{self.prompt}\n{self.answer}".encode()
        return self.turn or hashlib.sha256(texts).hexdigest()[:24]


def read(agent: str, raw: Mapping[str, Any]) -> HookInput:
    """Return what an agent says. The names are those of all agents together."""

    def text(*names: str) -> str:
        return next((raw[name] for name in names if isinstance(raw.get(name), str) and raw[name]), "")

    roots = [root for root in raw.get("workspace_roots") or () if isinstance(root, str)]
    hook_input = HookInput(
        agent,
        text("session_id", "conversation_id"),
        text("turn_id", "generation_id"),
        Path(text("cwd") or (roots[0] if roots else os.getcwd())),
        text("hook_event_name"),
        text("prompt"),
        text("last_assistant_message", "prompt_response", "text"),
    )
    if agent == "claude-code" and hook_input.event == "Stop":
        turn, prompt, answer = _last_turn(Path(text("transcript_path")))
        return replace(hook_input, turn=turn, prompt=prompt, answer=hook_input.answer or answer)
    return hook_input


def written(hook_input: HookInput, is_prompt: bool, text: str) -> str:
    """Return what the agent expects, for a text that it is to know."""
    if hook_input.agent == "opencode":
        return text
    if hook_input.agent == "cursor":
        return json.dumps({**({"continue": True} if is_prompt else {}), "additional_context": text})
    return json.dumps({"hookSpecificOutput": {"hookEventName": hook_input.event, "additionalContext": text}})


def _last_turn(transcript: Path) -> tuple[str, str, str]:
    """Return the id of the last prompt in a transcript of Claude Code, the prompt, and the last answer."""
    prompt, answer = ("", ""), ""
    for line in _lines(transcript):
        text = _text(line)
        if not text or line.get("isMeta") or line.get("isSidechain"):
            continue
        if line.get("type") == "user":
            prompt, answer = (str(line.get("uuid", "")), text), ""
        elif line.get("type") == "assistant":
            answer = text
    return *prompt, answer


def _lines(transcript: Path) -> Iterator[Mapping[str, Any]]:
    with transcript.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - TRANSCRIPT_BYTES))
        for line in file:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict):
                yield entry


def _text(line: Mapping[str, Any]) -> str:
    content = (line.get("message") or {}).get("content")
    if isinstance(content, str):
        return content
    parts = [part for part in content or () if isinstance(part, dict) and part.get("type") == "text"]
    return "\n".join(str(part.get("text", "")) for part in parts)
