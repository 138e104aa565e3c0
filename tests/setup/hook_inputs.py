"""What agents give to hooks on stdin, as their documentation shows it (November 2026)."""

from __future__ import annotations

from typing import Any, NamedTuple


class Recorded(NamedTuple):
    """The inputs of one agent for a start, a prompt and the end of a turn; ``$cwd`` stands for a folder."""

    start: dict[str, Any]
    prompt: dict[str, Any]
    stop: dict[str, Any]
    found_at: str


PROMPT = "Write to Ada Lovelace about the engine; my password is hunter22."
ANSWER = "I have written to her."
_SESSION = {"session_id": "abc123", "transcript_path": "$cwd/session.jsonl", "cwd": "$cwd"}
_CODEX = {**_SESSION, "transcript_path": None, "model": "gpt-5", "permission_mode": "default"}
_GEMINI = {**_SESSION, "timestamp": "2026-11-26T10:00:00Z"}
_CURSOR = {
    "conversation_id": "abc123", "model": "m", "cursor_version": "3.20.17", "workspace_roots": ["$cwd"],
    "user_email": None,
}  # fmt: skip
RECORDED = {
    "claude-code": Recorded(
        {**_SESSION, "hook_event_name": "SessionStart", "source": "startup"},
        {**_SESSION, "hook_event_name": "UserPromptSubmit", "permission_mode": "default", "prompt": PROMPT},
        {**_SESSION, "hook_event_name": "Stop", "stop_hook_active": False, "last_assistant_message": ANSWER},
        "https://code.claude.com/docs/en/hooks",
    ),
    "codex": Recorded(
        {**_CODEX, "hook_event_name": "SessionStart", "source": "startup"},
        {**_CODEX, "hook_event_name": "UserPromptSubmit", "turn_id": "t1", "prompt": PROMPT},
        {
            **_CODEX, "hook_event_name": "Stop", "turn_id": "t1", "stop_hook_active": False,
            "last_assistant_message": ANSWER,
        },
        "https://github.com/openai/codex/tree/main/codex-rs/hooks/schema/generated",
    ),
    "gemini-cli": Recorded(
        {**_GEMINI, "hook_event_name": "SessionStart", "source": "startup"},
        {**_GEMINI, "hook_event_name": "BeforeAgent", "prompt": PROMPT},
        {
            **_GEMINI, "hook_event_name": "AfterAgent", "stop_hook_active": False, "prompt_response": ANSWER,
            # So says Gemini CLI 0.61: what a hook told is a part of the prompt.
            "prompt": f"<hook_context>From graphmem</hook_context>\n\n{PROMPT}",
        },
        "https://geminicli.com/docs/hooks/reference",
    ),
    "cursor": Recorded(
        {**_CURSOR, "hook_event_name": "sessionStart", "session_id": "abc123", "composer_mode": "agent"},
        {
            **_CURSOR, "hook_event_name": "beforeSubmitPrompt", "generation_id": "g1", "prompt": PROMPT,
            "attachments": [],
        },
        {**_CURSOR, "hook_event_name": "afterAgentResponse", "generation_id": "g1", "text": ANSWER},
        "https://cursor.com/docs/hooks",
    ),
    "opencode": Recorded(
        {"session_id": "abc123", "cwd": "$cwd"},
        {"session_id": "abc123", "cwd": "$cwd", "prompt": PROMPT},
        {"session_id": "abc123", "turn_id": "msg_1", "cwd": "$cwd", "prompt": PROMPT, "text": ANSWER},
        "graphmem/cli/agents/opencode_plugin.js",
    ),
}  # fmt: skip

TRANSCRIPT = [
    {"type": "summary", "summary": "x"},
    {"type": "user", "uuid": "u0", "message": {"role": "user", "content": "An earlier prompt"}},
    {"type": "assistant", "uuid": "a0", "message": {"content": [{"type": "text", "text": "Earlier"}]}},
    {"type": "user", "uuid": "u1", "message": {"role": "user", "content": PROMPT}},
    {"type": "user", "uuid": "p1", "isCompactSummary": True, "message": {"content": "This session goes on"}},
    {"type": "user", "uuid": "p2", "message": {"content": "<local-command-stdout>ls</local-command-stdout>"}},
    {"type": "user", "uuid": "p3", "message": {"content": "[Request interrupted by user for tool use]"}},
    {"type": "user", "uuid": "p4", "message": {"content": "<system-reminder>Be brief</system-reminder>"}},
    {"type": "user", "uuid": "u2", "isMeta": True, "message": {"role": "user", "content": "<reminder>"}},
    {"type": "assistant", "uuid": "a1", "message": {"content": [{"type": "tool_use", "name": "Bash"}]}},
    {"type": "user", "uuid": "u3", "message": {"content": [{"type": "tool_result", "content": "ok"}]}},
    {"type": "assistant", "uuid": "a2", "message": {"content": [{"type": "text", "text": "On the way"}]}},
]
"""A session of Claude Code before its last line is written."""
