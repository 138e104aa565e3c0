"""``graphmem status``: what runs, is stored, waits and is wrong, on one screen; ``graphmem doctor``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import typer
from rich.console import Group
from rich.table import Table

from graphmem import __version__
from graphmem.cli.agents import hook_spool
from graphmem.cli.session import Draw, Session, run_async, show
from graphmem.cli.tables import pairs, plain, short, time_text
from graphmem.errors import GraphmemError

if TYPE_CHECKING:
    from graphmem.doctor import Finding
    from graphmem.settings import Settings

Row = dict[str, Any]
SIGNS: Final = {"ok": ("ok", "green"), "warn": ("warn", "yellow"), "fail": ("FAIL", "bold red")}
TIMEOUT_SECONDS: Final = 10.0  # seconds that a service may take for one of the answers


def status(session: Session) -> tuple[Row, Draw]:
    state = look(session)
    return state, lambda: Group(pairs(dict(_lines(state))), findings_table(state["problems"]))


def look(session: Session) -> Row:
    """Return what there is to tell; what is not known is null."""
    from graphmem.neo4j_local import backup_record

    chosen = session.settings()
    state: Row = {"version": __version__, "environment": chosen.env, "data_dir": str(chosen.data_path)}
    problems: list[Row] = []
    # Only a service that runs already is asked.
    session.running_for = TIMEOUT_SECONDS
    if chosen.base_url is not None:
        state["service"], state["database"] = _remote(session, chosen.base_url, problems)
    else:
        state["service"] = _local(chosen, problems)
        state["database"] = _database(chosen, state["service"]["running"])
    is_up = bool(state["service"]["running"])
    state |= _contents(session, problems) if is_up else dict.fromkeys(("stored", "last_write", "waiting"))
    turns = chosen.data_path / hook_spool.FOLDER
    state["turns_waiting"] = len(hook_spool.waiting(turns))
    state["turns_refused"] = len(hook_spool.refused(turns))
    if state["turns_refused"]:
        what = f"{state['turns_refused']:,} turns of agents could not be stored: *.refused in {turns}"
        fix = "Look whether the account of the hooks exists; name them *.turn to try again, or remove them."
        problems.append(_problem("turns", what, fix, "warn"))
    made = next(iter(backup_record.backups(chosen)), None)
    state["last_backup"] = made and {**asdict(made), "path": str(made.file(chosen))}
    if chosen.base_url is None:
        findings = findings_of(session, quick=True)
        problems += [asdict(finding) for finding in findings if finding.status != "ok"]
    return {**state, "problems": problems}


def _problem(check: str, fault: GraphmemError | str, fix: str = "", status: str = "fail") -> Row:
    what = f"{fault.code}: {fault}" if isinstance(fault, GraphmemError) else fault
    return {"check": check, "status": status, "what": what, "fix": fix}


def _remote(session: Session, base_url: str, problems: list[Row]) -> tuple[Row, Row]:
    service: Row = {"running": False, "serves": base_url}
    try:
        about, health = session.ask("server.info", {}), session.ask("server.health", {})
    except GraphmemError as exc:
        problems.append(_problem("service", exc))
        return service, {"running": None}
    if about["version"] != __version__:
        what = f"it is graphmem {about['version']}, this is {__version__}"
        fix = "Install the version that it runs: `graphmem update check` says how."
        problems.append(_problem("service", what, fix, "warn"))
    is_up = health["database"] == "up"
    if not is_up:
        fix = "Read the log of the service for the reason."
        problems.append(_problem("database", "its database does not answer", fix))
    return service | {"running": True, "version": about["version"]}, {"running": is_up}


def _local(chosen: Settings, problems: list[Row]) -> Row:
    from graphmem.cli.local_service import row
    from graphmem.service import calling, greeting
    from graphmem.service.place import place

    try:
        greeted = calling.greet(place(chosen)) or {}
    except GraphmemError as exc:
        problems.append(
            _problem("service", exc, "Run graphmem server stop: the next command starts another.")
        )
        greeted = {}
    if greeted and (different := greeting.differences(chosen, greeted)):
        what = f"it has other settings: {'; '.join(different)}"
        problems.append(_problem("service", what, "Use the same settings, or stop it.", "warn"))
    if greeted.get("error"):
        problems.append(_problem("service", GraphmemError.of(greeted["error"])))
    return row(greeted or None) | {"running": greeted.get("state") == greeting.READY}


def _database(chosen: Settings, is_served: bool) -> Row:
    """Return what is known of the database without asking it: of the embedded one, what `db status` says."""
    from graphmem import neo4j_local

    if chosen.neo4j_uri is not None:
        return {"running": is_served or None, "uri": chosen.neo4j_address}
    try:
        return neo4j_local.status(chosen)._asdict()
    except GraphmemError:
        # The check of the data directory tells the fault.
        return {"running": None}


def _contents(session: Session, problems: list[Row]) -> Row:
    """Return what is stored, who wrote last, and what waits; null if the service does not answer that."""
    try:
        stats = session.ask("server.stats", {})
        changes = session.ask("changes.list", {"limit": 1})["changes"]
        unread = session.ask("sources.list", {"interpreted": False, "limit": 1, "include_total_count": True})
        queued = session.ask(
            "interpretations.list", {"status": "pending", "limit": 1, "include_total_count": True}
        )
    except GraphmemError as exc:
        problems.append(_problem("contents", exc))
        return dict.fromkeys(("stored", "last_write", "waiting"))
    names = "entities", "observations", "relationships", "events"
    stored = {name: stats[f"total_{name}"] for name in names} | {"sources": stats["sources_count"]}
    waiting = {
        "sources_to_read": unread["total"],
        "interpretations": queued["total"],
        "vectors": stats["semantic_pending"],
        "entities_to_read": stats["search_pending"],
        "types_to_fold": len(stats["types_pending"]),
    }
    return {"stored": stored, "last_write": _written(changes[0]) if changes else None, "waiting": waiting}


def _written(change: Row) -> Row:
    from graphmem.changes.change_sentences import sentence
    from graphmem.model import attribution

    by = change["provenance"]
    writer = attribution.described(by["by"], by["client"])
    return {"at": change["timestamp"], "by": writer, "what": sentence(change)}


def _lines(state: Row) -> Iterator[tuple[str, str]]:
    def known(part: Row) -> str:
        runs = {True: "runs", False: "does not run", None: "not known"}[part["running"]]
        pid, at = part.get("pid"), str(part.get("started_at") or "")
        details = part.get("serves") or part.get("socket") or part.get("uri"), part.get("version")
        details = *details, pid and f"process {pid}", at and f"since {time_text(at.replace(' ', 'T'))}"
        text = ", ".join(filter(None, details)) if part["running"] else str(part.get("state") or "")
        return f"{runs}{text and ': '}{text}"

    service, database = state["service"], state["database"]
    yield "graphmem", f"{state['version']} ({state['environment']}), data in {state['data_dir']}"
    hint = "" if len(service) > 1 else ": `graphmem serve --detach` or any command starts one"
    yield "service", f"{known(service)}{hint}"
    size = f", {database['disk_bytes'] / 1e6:,.0f} MB on disk" if database.get("disk_bytes") else ""
    yield "database", f"{known(database)}{size}"
    for name in ("stored", "waiting"):
        counts = {key: count for key, count in (state[name] or {}).items() if count or name == "stored"}
        text = ", ".join(f"{count:,} {key.replace('_', ' ')}" for key, count in counts.items())
        yield name, text or ("nothing" if state[name] is not None else "not known: no service runs")
    if state["turns_waiting"]:
        yield "turns", f"{state['turns_waiting']:,} of agents wait until the service stores them"
    last, made = state["last_write"], state["last_backup"]
    yield (
        "last write",
        f"{time_text(last['at'])} by {last['by']}: {short(last['what'])}" if last else "none known",
    )
    yield "last backup", f"{time_text(made['created_at'])} {made['path']}" if made else "none known"


def doctor(session: Session, deep: bool = False) -> None:
    findings = findings_of(session, deep=deep)
    failed = any(finding.status == "fail" for finding in findings)
    answer = {"ok": not failed, "findings": [asdict(finding) for finding in findings]}
    counts = Counter(finding.status for finding in findings)
    line = plain(f"{counts['ok']} ok, {counts['warn']} warnings, {counts['fail']} failures")
    show(answer, session.as_json, lambda: Group(findings_table(answer["findings"]), line))
    if failed:
        raise typer.Exit(1)


def findings_of(session: Session, *, deep: bool = False, quick: bool = False) -> list[Finding]:
    """Return what the checks find; the log stays as it is."""
    from graphmem.doctor import examine
    from graphmem.observability import logs

    with logs.silenced():
        return run_async(examine(session.overrides, deep, quick=quick))


def findings_table(findings: Iterable[Mapping[str, Any]]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        sign, style = SIGNS[finding["status"]]
        table.add_row(plain(sign, style), plain(finding["check"]), plain(finding["what"]))
        if finding["fix"]:
            table.add_row("", "", plain(f"→ {finding['fix']}", "bold"))
    return table
