"""README and docs/ are true: each command, target, path, name, link and file that they mention exists."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import pytest
import typer

import graphmem.runtime  # noqa: F401  (fills the registry)
from graphmem import cypher
from graphmem.api import openapi
from graphmem.api.public_paths import PUBLIC_PATHS, PUBLIC_PREFIXES
from graphmem.arguments import read
from graphmem.cli.main import app
from graphmem.dump import records
from graphmem.errors import CATALOGUE
from graphmem.mcp.toolsets import TOOLSETS
from graphmem.model.shipped_relationships import MEANINGS
from graphmem.observability.metrics import Metrics
from graphmem.registry import REGISTRY
from graphmem.settings import Settings, variable
from tests.contract.snapshots import ROOT
from tests.support.walks import walk_over

PAGES = sorted([ROOT / "README.md", ROOT / "examples" / "README.md", *(ROOT / "docs").glob("*.md")])
README_LINES_LIMIT = 150
COMMAND_LINE = typer.main.get_command(app)
SETTINGS = {variable(name) for name in Settings.model_fields}
UNDESCRIBED = {"GET /metrics", "GET /openapi.yaml"}
"""Paths of the service that OpenAPI leaves out."""
FOREIGN = {"POST /chat/completions", "POST /embeddings"}
"""Paths of other services."""
PREFIXES = {"/api", "/app/", "/mcp", "/data", "/tmp", "/opt/graphmem", *(f"/mcp/{name}" for name in TOOLSETS)}
CADDY_VARIABLES = set(re.findall(r"\{\$(\w+)", (ROOT / "docker" / "Caddyfile").read_text(encoding="utf-8")))
WARNINGS = {
    code
    for path in (ROOT / "graphmem").rglob("*.py")
    for code in re.findall(r'(?:"code": |\.warn\(\s*)"([A-Z_]+)"', path.read_text(encoding="utf-8"))
}
"""The codes of warnings."""
ASSIGNMENT = re.compile(r"[A-Z0-9_]+=.*")


class Block(NamedTuple):
    """A code block of a page."""

    language: str
    text: str


def blocks(page: Path) -> list[Block]:
    """Return the code blocks of a page."""
    text = page.read_text(encoding="utf-8")
    return [Block(*match) for match in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)]


def prose(page: Path) -> str:
    """Return a page without its code blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def inline(page: Path) -> list[str]:
    """Return what stands between backticks in the prose of a page."""
    return [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", prose(page))]


def commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each command of a shell block; quotes may span lines."""
    pending = ""
    for line in text.splitlines():
        pending = f"{pending}\n{line}" if pending else line
        try:
            words = shlex.split(pending, comments=True)
        except ValueError:
            continue
        pending = ""
        if words:
            yield words
    assert not pending, f"a quote is left open: {pending}"


def parse(words: list[str]) -> None:
    """Parse a ``graphmem`` command as the command line does, without running it."""
    command: Any = COMMAND_LINE
    context: Any = command.make_context("graphmem", words[1:])
    while hasattr(command, "commands"):
        name, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        context = command.make_context(name, rest, parent=context)


def named(words: list[str]) -> Any:
    """Return the command that some words name; options and arguments end the name."""
    command: Any = COMMAND_LINE
    for word in words[1:]:
        if not hasattr(command, "commands") or word.startswith("-"):
            break
        assert word in command.commands, f"there is no command {' '.join(words)}"
        command = command.commands[word]
    return command


def targets() -> set[str]:
    """Return the targets of the Makefile that say what they do."""
    return set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def check_curl(words: list[str]) -> None:
    """Check address, arguments and body of a request."""
    address = urlsplit(next(word for word in words if word.startswith("http")))
    body = words[words.index("-d") + 1] if "-d" in words else None
    method = "GET" if body is None else "POST"
    described = openapi.document()["paths"][address.path][method.lower()]
    known = {parameter["name"] for parameter in described.get("parameters", ())}
    assert {name for name, _ in parse_qsl(address.query)} <= known
    if body is not None:
        operation = next(o for o in REGISTRY.values() if (method, address.path) in o.routes)
        read(operation.arguments, operation.name, json.loads(body))


def check_client(server: dict[str, Any]) -> None:
    """Check what a client is told of the service: the command that it starts, or the address and header."""
    if "command" in server:
        return parse([server["command"], *server["args"]])
    assert urlsplit(server["url"]).path in PREFIXES
    assert server.get("headers", {"Authorization": "Bearer "})["Authorization"].startswith("Bearer ")
    return None


def check_command(words: list[str]) -> None:
    """Check one command of a code block."""
    assigned = list(takewhile(ASSIGNMENT.fullmatch, words))
    words = words[len(assigned) :]
    known = CADDY_VARIABLES if words[0] == "caddy" else SETTINGS
    assert {word.partition("=")[0] for word in assigned} <= known
    match words:
        case ["graphmem", *_]:
            parse(words)
        case ["make", *names]:
            assert set(names) <= targets()
        case ["curl", *_]:
            check_curl(words)
        case ["docker", "compose", "-f", file, *rest]:
            assert (ROOT / file).is_file()
            if rest[0] == "exec":
                service, *line = [word for word in rest[1:] if word != "-T"]
                assert (service, line[0] in ("graphmem", "sh", "rm")) == ("graphmem", True)
                if line[0] == "graphmem":
                    parse(line)
        case ["docker", "buildx", "build", *rest]:
            assert (ROOT / rest[rest.index("--file") + 1]).is_file()
        case ["kubectl", "apply", "--filename", file]:
            assert (ROOT / file).is_file()
        case ["cp", source, _]:
            assert (ROOT / source).is_file()
        case ["pip", "install", "."] | ["chmod", "600", "docker/.env"]:
            pass
        case ["caddy", "run", "--config", file]:
            assert (ROOT / file).is_file()
        case ["claude", "mcp", "add", *_, "--", "graphmem", "mcp"]:
            pass
        case ["claude", "mcp", "add", "--transport", "http", *rest]:
            url = next(word for word in rest if word.startswith("https:"))
            header = next((word for word in rest if word.startswith("Authorization: ")), None)
            check_client({"url": url} | ({"headers": dict([header.split(": ")])} if header else {}))
        case ["code", "--add-mcp", server]:
            check_client(json.loads(server))
        case _:
            pytest.fail(f"the test does not know how to check: {shlex.join(words)}")


@walk_over("page", PAGES)
def test_every_command_of_a_code_block_can_be_run(page: Path) -> None:
    for block in blocks(page):
        if block.language == "sh":
            for words in commands(block.text):
                check_command(words)


@walk_over("page", PAGES)
def test_every_json_block_is_a_client_that_reaches_graphmem(page: Path) -> None:
    for block in blocks(page):
        if block.language == "json":
            client = json.loads(block.text)
            # The first name is that of VS Code, the second that of the others.
            servers = client.get("servers") or client["mcpServers"]
            for server in servers.values():
                check_client(server)


@walk_over("page", PAGES)
def test_every_command_in_the_text_exists(page: Path) -> None:
    for code in inline(page):
        words = code.split()
        if words[0] == "make":
            assert set(words[1:]) <= targets(), code
        if "graphmem" in words and "<" not in code and not code.startswith("{"):
            words = words[words.index("--") + 1 :] if "--" in words else words
            command = named([word for word in words if not ASSIGNMENT.fullmatch(word)])
            options = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
            options |= {name for parameter in COMMAND_LINE.params for name in parameter.opts}
            assert {word for word in words if word.startswith("--")} <= options, code


@walk_over("page", PAGES)
def test_every_path_of_the_service_exists(page: Path) -> None:
    known = {
        f"{method.upper()} {path}" for path, item in openapi.document()["paths"].items() for method in item
    }
    known |= UNDESCRIBED | FOREIGN
    for code in inline(page):
        if re.fullmatch(r"(GET|POST|PUT|PATCH|DELETE) /\S+", code):
            assert code in known
        elif re.fullmatch(r"/[a-z]\S*", code):
            assert code in PREFIXES or code in {path.partition(" ")[2] for path in known}


@cache
def in_capitals() -> tuple[set[str], str]:
    """Return the names in capitals that the program knows, and the code of all tests."""
    queries = "\n".join(cypher.query(name).text for name in cypher.names())
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "graphmem").rglob("*.py"))
    known = SETTINGS | set(CATALOGUE) | set(MEANINGS) | set(re.findall(r"\b[A-Z_]+\b", queries))
    known |= set(re.findall(r'"code": "([A-Z_]+)"', code))
    known |= set(re.findall(r'"([A-Z]+(?:_[A-Z]+)+): ', code))
    known |= set(re.findall(r"\$\(([A-Z_]+)\)", (ROOT / "Makefile").read_text(encoding="utf-8")))
    return known, tests


@walk_over("page", PAGES)
def test_every_name_in_capitals_exists(page: Path) -> None:
    known, tests = in_capitals()
    for text in inline(page):
        for name in re.findall(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b", text):
            of_tests = name in tests and (name.startswith("GRAPHMEM_TEST_") or page.name == "contributing.md")
            standard = name.startswith(("OTEL_", "XDG_", "AWS_", "SSL_"))
            assert (
                name in known | WARNINGS
                or of_tests
                or standard
                or text.startswith("graphmem relationship-types")
            )


@walk_over("page", PAGES)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", prose(page)):
        if re.match(r"https?:", target):
            continue
        file, _, anchor = target.partition("#")
        linked = page.parent / file if file else page
        assert linked.exists(), target
        if anchor:
            assert anchor in anchors(linked), target


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@walk_over("page", PAGES)
def test_every_file_that_is_named_exists(page: Path) -> None:
    for code in inline(page):
        if re.fullmatch(r"(graphmem|tests|docs|docker|examples)/[\w./-]*", code) and code != "docker/.env":
            assert (ROOT / code).exists(), code
    for file, symbol in re.findall(r"`(graphmem/[\w/]+\.py)` \(`([\w.]+)`\)", prose(page)):
        source = (ROOT / file).read_text(encoding="utf-8")
        for part in symbol.split("."):
            assert re.search(rf"\b(class|def) {part}\b|^{part}\b", source, re.MULTILINE), f"{file}: {symbol}"


def test_the_page_about_access_lists_what_needs_no_credential() -> None:
    text = (ROOT / "docs" / "access.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^These need no credential: (.*?)\. ", text, re.DOTALL | re.MULTILINE)
    oauth = {path for path in PUBLIC_PATHS if path.startswith("/mcp/oauth/")}
    named = {code.removeprefix("GET ") for code in re.findall(r"`([^`]+)`", listed)}
    assert named == (PUBLIC_PATHS - oauth) | {*PUBLIC_PREFIXES}
    assert "the OAuth routes" in listed


def test_the_pages_about_backups_say_whether_they_hold_accounts_and_keys() -> None:
    assert "password" in records.AccountRecord.model_fields
    kinds = {name for name in vars(records) if name.endswith("Record")}
    assert not [name for name in kinds if re.search("Key|Token|Grant|Code", name)]
    for name in ("team.md", "operating.md", "access.md"):
        text = " ".join((ROOT / "docs" / name).read_text(encoding="utf-8").split())
        assert re.search(r"accounts,? with the hashes of their passwords", text), name


@walk_over("page", PAGES)
def test_every_metric_that_is_named_exists(page: Path) -> None:
    known = {
        name for metric in Metrics().registry.collect() for name in (metric.name, f"{metric.name}_total")
    }
    assert {code for code in inline(page) if re.fullmatch(r"graphmem_[a-z_]+", code)} <= known


def test_the_readme_is_short_and_names_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= README_LINES_LIMIT
    assert "make demo" in text
    assert "make test" in text


def test_the_readme_says_the_sizes_that_the_makefile_says() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (sizes,) = re.findall(r"(\d+) MB to download, (\d+) MB on disk", makefile)
    assert all(f"{size} MB" in text for size in sizes)


def test_nothing_is_locked_that_is_not_needed() -> None:
    for lock in (ROOT / "locks").glob("*.lock"):
        names = set(re.findall(r"^([\w.-]+)==", lock.read_text(encoding="utf-8"), re.MULTILINE))
        assert not names & {"babel", "hf-xet", "openai", "phonenumbers"}, lock.name
        # Only the tests have the extra for a better model, which needs it.
        of_extra = {"fastembed", "huggingface-hub", "onnxruntime"}
        assert names & of_extra == (of_extra if "dev" in lock.name else set()), lock.name


def test_docs_start_the_service_before_the_first_call_of_an_agent() -> None:
    for name in ("README.md", "docs/clients.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "graphmem server start" in text, name


def test_the_glossary_has_no_word_for_what_is_not_there() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert "not built" not in text


def test_the_readme_leads_to_every_page() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f"(docs/{page.name})" not in text] == []


def test_every_room_has_its_line_in_the_architecture() -> None:
    table = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    package = ROOT / "graphmem"
    rooms = [f"graphmem/{path.parent.name}/" for path in package.glob("*/__init__.py")]
    rooms += [f"graphmem/{path.name}" for path in package.glob("[!_]*.py")]
    assert [room for room in rooms if f"\n| `{room}` |" not in table] == []


def test_the_picture_of_the_rooms_has_the_layers_of_the_import_contract() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = project["tool"]["importlinter"]["contracts"][0]["layers"]
    picture = next(b for b in blocks(ROOT / "docs" / "architecture.md") if "flowchart TB" in b.text)
    layers = [set(names.split(", ")) for names in re.findall(r'\["(?:\w+: )?([^"]+)"\]', picture.text)]
    assert layers == [set(layer.split(" : ")) for layer in contract]
