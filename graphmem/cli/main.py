"""The ``graphmem`` command."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from graphmem import __version__, operations
from graphmem.cli import backup, cypher, db
from graphmem.cli.commands import add_commands
from graphmem.cli.session import Session, console, current, telling_errors

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Structured memory: observations in, snapshots with provenance out.",
)
# Importing the operations has filled the registry, from which the commands are made.
assert operations.__path__
Env = Literal["development", "production", "demo", "test"]


def _version(wanted: bool) -> None:
    if wanted:
        console.print(f"graphmem {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    base_url: Annotated[
        str | None, typer.Option(help="Ask the service at this address instead of working on the data here.")
    ] = None,
    env: Annotated[Env | None, typer.Option(help="Which instance; development unless said.")] = None,
    data_dir: Annotated[
        Path | None,
        # Whether it can be read is told by what reads it, and doctor says what to do.
        typer.Option(readable=False, help="Where the instance's data is."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show the log on the console.")] = False,
    version: Annotated[
        bool | None, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = None,
) -> None:
    """Structured memory: observations in, snapshots with provenance out."""
    overrides = {"base_url": base_url, "env": env, "data_dir": data_dir}
    context.obj = Session(as_json, verbose, {name: v for name, v in overrides.items() if v is not None})


@app.command()
def serve(
    context: typer.Context,
    host: Annotated[str | None, typer.Option(help="Address to bind; 127.0.0.1 unless said.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port to bind; 3080, in production 3180.")
    ] = None,
    env: Annotated[Env | None, typer.Option(help="Which instance; development unless said.")] = None,
) -> None:
    """Serve the REST API and MCP over HTTP until told to stop.

    \b
    Examples:
      graphmem serve
      SERVICE_BEARER_TOKEN=... graphmem serve --env production --host 0.0.0.0
    """
    session = current(context)
    with telling_errors(session.as_json):
        from graphmem.cli.serve import serve as run

        given = {name: v for name, v in (("host", host), ("port", port), ("env", env)) if v is not None}
        run(session.settings(**given))


@app.command()
def mcp(context: typer.Context) -> None:
    """Serve MCP over stdin and stdout, for a client that starts this command itself.

    \b
    Example, in the client's configuration:
      {"mcpServers": {"graphmem": {"command": "graphmem", "args": ["mcp"]}}}
    """
    session = current(context)
    with telling_errors(session.as_json):
        from graphmem.cli.serve import serve_stdio

        serve_stdio(session.settings())


@app.command()
def demo(
    context: typer.Context,
    folder: Annotated[
        Path, typer.Argument(help="Folder of JSON files to store, in the order of names.")
    ] = Path("examples"),
) -> None:
    """Store the example world in an instance of its own and show what comes back.

    \b
    Example:
      graphmem demo examples
    """
    session = current(context)
    with telling_errors(session.as_json):
        from graphmem.cli.demo import run

        run(session, folder)


@app.command()
def rebuild(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Derive everything again from what was observed, and set right what differs.

    Snapshots, names, identifiers, edges, discovered schemas, counters and the state hash. Nothing that was
    observed is changed, and a service may run meanwhile.

    \b
    Example:
      graphmem rebuild
    """
    session = current(context)
    with telling_errors(as_json or session.as_json):
        from graphmem.cli.rebuild import rebuild as run

        db.show(dict(run(session)), as_json or session.as_json)


@app.command()
def doctor(
    context: typer.Context,
    deep: Annotated[
        bool, typer.Option("--deep", help="Compare every snapshot with its observations as well.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Look for what is wrong with this installation, and say what to do about each thing.

    Settings, data directory, disk, engine, database and its schema, memory, clocks, vectors, the service.
    Nothing is started or changed. The exit code is 1 if something fails, else 0.

    \b
    Examples:
      graphmem doctor
      graphmem doctor --json
      graphmem --env production doctor --deep
    """
    session = current(context)
    with telling_errors(as_json or session.as_json):
        from graphmem.cli.doctor import run

        run(session, deep, as_json or session.as_json)


app.add_typer(db.app, name="db", help="Start, stop and look at the embedded Neo4j.")
app.add_typer(backup.app, name="backup", help="Write all facts into one file, check it, and restore it.")
app.add_typer(cypher.app, name="cypher", help="Show the queries that graphmem sends to Neo4j.")
add_commands(app)


def main() -> None:
    """Run the command line. What it writes is the user's alone."""
    os.umask(0o077)
    app(prog_name="graphmem")
