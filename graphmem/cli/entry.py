"""Where the program starts: a hook without the command line, whose imports take longer than its work."""

import os
import sys

_OPTIONS = {"--base-url": "base_url", "--env": "env", "--data-dir": "data_dir", "--account": "account"}


def main() -> None:
    """Run the command line, or a hook. Files that it writes are readable by this user only."""
    hook = hook_words(sys.argv[1:])
    if hook is None:
        from graphmem.cli.main import main as command_line

        command_line()
        return
    from graphmem.cli.agents.hook_call import call

    os.umask(0o077)
    kind, agent, options = hook
    stdin = sys.stdin.buffer.read() if sys.stdin else b""
    try:
        text, is_away = call(kind, agent, options, stdin)
    except Exception:  # the agent goes on, whatever it gave to the hook
        text, is_away = None, False
    if text is None:
        from graphmem.cli.agents.hook_events import run
        from graphmem.cli.agents.hook_transport import Reach

        reach = Reach(agent, is_away=is_away, **options)  # pyright: ignore[reportArgumentType]
        text = run(kind, reach, stdin)
    try:  # noqa: SIM105 - contextlib takes long to import
        os.write(1, text.encode("utf-8", "replace"))
    except OSError:
        pass  # nobody reads it


def hook_words(words: "list[str]") -> "tuple[str, str, dict[str, str]] | None":
    """Return event, agent and options of a hook as `graphmem setup` writes it; None for any other words."""
    options, rest = dict[str, str](), list(words)
    while len(rest) > 1 and rest[0] in _OPTIONS:
        options[_OPTIONS[rest[0]]] = rest[1]
        del rest[:2]
    is_hook = len(rest) == 4 and rest[0] == "hook" and rest[2] == "--agent"
    return (rest[1], rest[3], options) if is_hook and rest[1] in ("session-start", "prompt", "stop") else None
