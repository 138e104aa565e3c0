"""The ``graphmem`` command."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from graphmem import __version__
from graphmem.cli.command_groups import group_of
from graphmem.cli.session import Session, console, telling_errors

app = typer.Typer(
    cls=group_of(),
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    # Rendered as Markdown, examples would run together, and `<field>` would vanish as if it were HTML.
    rich_markup_mode=None,
    help="Structured memory: observations in, snapshots with provenance out.",
)
# The names of the settings, which are not imported before a command needs them; a test compares them.
Env = Literal["development", "production", "demo", "test", "sandbox"]
Toolset = Literal["core", "full", "readonly", "memory"]


def _stored_name(account: str | None) -> str | None:
    if not account:
        return None
    from graphmem.auth import stored_name

    return stored_name(account)


Account = Annotated[
    str | None,
    typer.Option(
        "--account",
        callback=_stored_name,
        help="Act as this account of this machine's instance. Default: local.",
    ),
]
WITHOUT_ACCOUNT = frozenset({
    "serve", "demo", "rebuild", "doctor", "db", "server", "backup", "storage", "cypher", "account", "parse",
    "instructions", "settings", "init", "reset", "logs", "update", "scripts", "sandbox", "encryption",
    "erasure",
})  # fmt: skip
"""Commands that act as no account."""


def _print_version(value: bool) -> None:
    if value:
        console.print(f"graphmem {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    base_url: Annotated[
        str | None,
        typer.Option(
            help="Send requests to the service at this address. Default: work on the data of this machine."
        ),
    ] = None,
    env: Annotated[Env | None, typer.Option(help="The instance. Default: development.")] = None,
    data_dir: Annotated[
        Path | None,
        # Not checked here: opening the directory reports what is wrong with it.
        typer.Option(readable=False, help="Data directory of the instance."),
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Work on the data in this process, without the local service.")
    ] = False,
    account: Account = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Print the log to the console.")] = False,
    version: Annotated[
        bool | None,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = None,
) -> None:
    if account is not None and context.invoked_subcommand in WITHOUT_ACCOUNT:
        raise typer.BadParameter(
            f"graphmem {context.invoked_subcommand} acts as no account", param_hint="--account"
        )
    overrides = {"base_url": base_url, "env": env, "data_dir": data_dir, "offline": offline or None}
    set_overrides = {name: value for name, value in overrides.items() if value is not None}
    outer, own = context.obj, Session(as_json, verbose, set_overrides, account)
    context.obj = own.within(outer) if isinstance(outer, Session) else own


def serve(
    session: Session, host: str | None = None, port: int | None = None, env: Env | None = None,
    detach: bool = False, detached: bool = False,
) -> dict[str, Any] | None:  # fmt: skip
    from graphmem.cli.serve import serve as run
    from graphmem.cli.serve import serve_detached

    options = {"host": host, "port": port, "env": env}
    chosen = session.settings(**{name: value for name, value in options.items() if value is not None})
    with telling_errors(session.as_json or (chosen.log_json and not detach)):
        return serve_detached(chosen) if detach else run(chosen, detached=detached)


def mcp(session: Session, tools: Toolset | None = None, account: Account = None) -> None:
    from graphmem.mcp.thin import run

    run(session.settings(mcp_tools=tools), session.account if account is None else account)


def main() -> None:
    """Run the command line. Files that it writes are readable by this user only."""
    os.umask(0o077)
    app(prog_name="graphmem")
