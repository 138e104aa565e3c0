"""A sealed instance at work, killed now and then: no file has in clear what was stored or asked."""

from __future__ import annotations

import base64
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, LiteralString

import pytest
from pydantic import SecretStr

from graphmem import neo4j_local
from graphmem.sealing import InstanceKeys, RootKey
from graphmem.settings import Settings
from tests.support import service as services
from tests.support.actors import DISABLED_ACCOUNT
from tests.support.embedded_neo4j import engine_settings, query, servers_of
from tests.support.forked_services import forks
from tests.support.killed_services import until
from tests.support.language_model import LanguageModel, running_language_model
from tests.support.service import Service, wait_until_healthy

# Neo4j packs short texts: only long ones stand in its files as they are.
CANARY = "zephyrquartz" * 9
WORD = CANARY[:12]
PROGRAM = "larkspurvine" * 8
"""The name of a program. Logs may have it, and files of no other kind."""
ENCODINGS = "utf-8", "utf-16-le", "utf-16-be"
KILLS = 3
EXCEPTIONS = ("prompts/",)
"""Where in the data directory words of somebody may be in clear: prompts of hooks, for a day."""

RENAME: LiteralString = "MATCH (account:Account {id: $id}) SET account.name = 'erased'"


class Instance:
    """A sealed instance with a Neo4j of its own, in one folder."""

    def __init__(self, settings: Settings, owner: str, model: LanguageModel) -> None:
        self.settings, self.owner, self.model = settings, owner, model
        self.port = services.free_port()
        self.start()

    def start(self) -> None:
        """Start the service, which starts its database."""
        variables: dict[str, Any] = {"GRAPHMEM_LLM_URL": self.model.url, "GRAPHMEM_LLM_MODEL": "reader",
                     "TMPDIR": str(self.settings.data_path / "temporary")}  # fmt: skip
        self.service: Service = services.start(
            self.settings, self.settings.data_path, self.owner, self.port, worker=True, **variables
        )
        wait_until_healthy(self.service)

    def kill(self, *, with_database: bool) -> None:
        """Kill the service and start it again.

        Args:
            with_database: the database is killed as well, and goes through its log; else it is stopped, which
                makes a checkpoint.
        """
        self.service.send(signal.SIGKILL)
        self.service.wait()
        if with_database:
            for pid in servers_of(self.settings.data_path):
                os.kill(pid, signal.SIGKILL)
        else:
            neo4j_local.stop(self.settings)
        self.start()

    def call(self, method: str, path: str, *refusals: int, **body: Any) -> dict[str, Any]:
        """Send a request. ``refusals``: the statuses that it may end with, none for a success."""
        with self.service.http() as http:
            sent: Any = {"params": body} if method in ("GET", "DELETE") else {"json": body}
            answer = http.request(method, path, **sent)
        assert answer.is_success if not refusals else answer.status_code in refusals, (
            path,
            answer.text[:500],
        )
        return answer.json()

    def command(self, *words: str) -> None:
        """Run a command of the instance."""
        code = forks().start(self.settings, self.settings.data_path, *words, owner=self.owner).wait()
        assert code == 0, (words, (self.settings.data_path / "console").read_text()[-2000:])


@pytest.fixture
def instance(tmp_path: Path, owner: str) -> Iterator[Instance]:
    folder = tmp_path / "data"
    (folder / "temporary").mkdir(parents=True)
    folder.chmod(0o700)
    root = RootKey.new()
    InstanceKeys.create(folder / "keys.json", root)
    settings = engine_settings(folder, neo4j_heap="512m", cache_dir=os.environ.get("GRAPHMEM_CACHE_DIR"))
    settings = settings.model_copy(
        update={"key_file": folder / "keys.json", "root_key": SecretStr(root.words)}
    )
    with running_language_model() as model:
        made = Instance(settings, owner, model)
        try:
            yield made
        finally:
            made.service.process.kill()
            neo4j_local.stop(settings)


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def write(instance: Instance, number: int) -> None:
    """Store the canary wherever a caller may put a text, and ask for it."""
    call, text = instance.call, f"{CANARY} {number}"
    ada = {
        "entity_type": "person",
        "name": f"Ada {text}",
        "note": CANARY * 99,
        "email": f"{CANARY[:50]}{number}@b.org",
    }
    eve = {
        "entity_type": "person",
        "name": f"Eve {text}",
        "aliases": [text],
        "born": text,
        "deep": {"a": [text]},
    }
    link = {"relationship_type": "KNOWS", "source_index": 0, "target_index": 1, "metadata": {"how": text}}
    stored = call("POST", "/store", entities=[ada, eve], relationships=[link], idempotency_key=text)
    ada, eve = (each["entity_id"] for each in stored["entities"])
    (edge,) = stored["relationships_created"]
    call("POST", "/correct", entity_id=eve, field="note", value=text, idempotency_key=f"correct {text}")
    call(
        "POST",
        "/observations/create",
        entity_type="person",
        entity_identifier=f"Ada {text}",
        fields={"motto": text},
    )
    call("POST", "/delete_relationship", relationship_key=edge["relationship_key"], reason=text)
    call("POST", "/restore_relationship", relationship_key=edge["relationship_key"], reason=text)
    call("POST", "/entities/duplicates/dismiss", entity_a=ada, entity_b=eve, reason=text)
    call("POST", "/entities/merge", source_entity_id=eve, target_entity_id=ada, merge_reason=text)
    call("POST", "/entities/unmerge", source_entity_id=eve, target_entity_id=ada, reason=text)
    title = {"entity_type": "person", "canonical_name": f"Another {text}"}
    equals = {"field": "motto", "value": text}
    call(
        "POST",
        "/entities/split",
        source_entity_id=ada,
        predicate={"observation_field_equals": equals},
        new_entity=title,
        reason=text,
    )
    call("POST", "/delete_entity", entity_id=eve, reason=text)
    call("POST", "/restore_entity", entity_id=eve, reason=text)
    call("POST", "/keys", name=text[:90])
    call(
        "POST",
        "/agents/grants",
        label=text[:90],
        thumbprint="x" * 43,
        capabilities=[{"op": "store", "entity_types": ["person"]}],
    )
    call(
        "POST",
        "/agents/grants",
        label=text[:90],
        issuer=f"https://{CANARY[:60]}.example.org",
        subject=text[:90],
        capabilities=[{"op": "store", "entity_types": ["person"]}],
    )
    # Nobody is there: the failure of a delivery is written too.
    call(
        "POST",
        "/subscribe",
        entity_types=["person"],
        delivery_method="webhook",
        webhook_url=f"https://{CANARY[:60]}.example.org/{CANARY}",
        fields=[CANARY[:60]],
        max_failures=1,
    )
    call("POST", "/subscribe", delivery_method="sse", query={"search": text})
    ask_for_access(instance, text)
    write_files(instance, text)


def ask_for_access(instance: Instance, text: str) -> None:
    """Have a client register, and ask for a permission that nobody gives."""
    redirect, call = f"https://{CANARY[:60]}.example.org/callback", instance.call
    client = call("POST", "/mcp/oauth/register", redirect_uris=[redirect], client_name=text[:90])["client_id"]
    with instance.service.http() as http:
        request = {
            "response_type": "code", "client_id": client, "redirect_uri": redirect, "state": text,
            "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "code_challenge_method": "S256",
        }  # fmt: skip
        shown = http.get("/mcp/oauth/authorize", params=request)
    assert shown.status_code in (200, 302, 303), shown.text[:500]


def write_files(instance: Instance, text: str) -> None:
    call = instance.call
    event = {
        "entity_type": "event",
        "title": text,
        "date": "2026-01-02",
        "spans": {"title": {"line": 1, "quote": text}},
    }
    letter = {"file_content": encoded(f"The {text} sings.\n" * 50), "original_filename": f"{text}.txt"}
    source = call("POST", "/store", entities=[event], file_idempotency_key=text, **letter)["source_id"]
    read = {"entity_type": "note", "title": text, "text": text}
    call(
        "POST",
        "/interpretations/create",
        source_id=source,
        entities=[read],
        model=text,
        interpreter=CANARY[:60],
        interpreter_version=text[:60],
        interpretation_config={"prompt": text},
    )
    call("POST", f"/sources/{source}/withdraw", reason=text)
    call("POST", f"/sources/{source}/reinstate", reason=text)
    table = encoded(f"entity_type,name,x\nperson,Carl {text},{text}\n")
    call("POST", "/store", file_content=table, original_filename=f"{text}.csv")
    with instance.service.http() as http:
        form = {"file": (f"{text}.txt", f"{CANARY}\n".encode() * 12_000, "text/plain")}
        assert http.post("/store", files=form).is_success
    # The service of the language model answers what is no answer, with the canary in it.
    instance.model.content = text
    call("POST", "/store/unstructured", file_content=encoded(f"A letter. {text}"), original_filename=text)
    call("POST", "/reinterpret", 200, 400, 409, 422, 500, 502, 503, source_id=source, force=True)


def ask(instance: Instance, number: int) -> None:
    """Ask for the canary, and send what is refused."""
    call, text = instance.call, f"{CANARY} {number}"
    assert call("POST", "/entities/query", search=text)["entities"]
    call("POST", "/retrieve_context", question=f"Who knows {text}?")
    call("POST", "/retrieve_entity_by_identifier", identifier=text)
    call("GET", "/sources/search", search=text)
    call("GET", "/search/explain", search=text)
    call("GET", "/sources", search=text)
    call("POST", "/entities/query", filters={"snapshot_filters": {"born": {"op": "eq", "value": text}}})
    wrong = (400, 404, 409, 413, 422)
    call("GET", f"/entities/{text}", *wrong)
    call("POST", "/store", *wrong, entities=[{"entity_type": "note", "title": text}], idempotency_key=text)
    call("POST", "/store", *wrong, entities=[text], original_filename=text)
    call("POST", "/correct", *wrong, entity_id=text, field=text, value=text)
    call("POST", "/entities/query", *wrong, filters={text: text})
    with instance.service.http() as http:
        note = {"entity_type": "note", "title": f"by a program {number}"}
        by_program = http.post("/store", json={"entities": [note]}, headers={"X-Client-Name": PROGRAM})
        assert by_program.is_success
    assert call("GET", "/changes", by_client=PROGRAM)["changes"]
    call("GET", "/stats", 401, 404, 400, 200, question=text)
    with instance.service.http() as http:
        http.get("/stats", headers={"Authorization": f"Bearer {CANARY}"})
        http.post("/store", content=f'{{"{text}'.encode())
        http.post("/parse_file", json={"file_content": encoded(text), "original_filename": text})


def canaries_in(path: Path) -> list[str]:
    """Return the forms of the canary that a file has."""
    data = path.read_bytes()
    words = [WORD, WORD.upper(), base64.b64encode(WORD.encode()).decode(), PROGRAM[:12]]
    return [word for word in words if any(word.encode(each) in data for each in ENCODINGS)]


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_no_file_of_an_instance_that_was_killed_now_and_then_has_a_canary(instance: Instance) -> None:
    folder = instance.settings.data_path
    # Keys are those of an account.
    query(neo4j_local.info(instance.settings), DISABLED_ACCOUNT, id=instance.owner)
    query(neo4j_local.info(instance.settings), RENAME, id=instance.owner)
    for number in range(KILLS + 1):
        write(instance, number)
        ask(instance, number)
        until(lambda: instance.call("GET", "/stats")["semantic_pending"] == 0)
        if number < KILLS:
            instance.kill(with_database=number % 2 == 1)
    instance.command("backup", "create", str(folder / "all.dump"))
    instance.command("doctor", "--deep")
    # The backup is older than the erasure, and has nothing of the owner that opens.
    instance.command("account", "delete", "erased", "--with-data", "--yes")
    instance.kill(with_database=True)
    instance.command("backup", "restore", str(folder / "all.dump"))
    entities = "MATCH (n:Entity {owner: $id}) RETURN n.id AS id"
    assert query(neo4j_local.info(instance.settings), entities, id=instance.owner) == []
    instance.service.send(signal.SIGTERM)
    instance.service.wait()
    assert neo4j_local.stop(instance.settings)
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    for part in ("neo4j/data/databases", "neo4j/data/transactions", "objects", "logs", "all.dump"):
        assert any(str(path.relative_to(folder)).startswith(part) for path in files), part
    assert any("🔒".encode() in path.read_bytes() for path in files), "the files of the database"
    names = [str(path.relative_to(folder)) for path in files]
    canaries = {name: canaries_in(folder / name) for name in names if not name.startswith(EXCEPTIONS)}
    assert {path: forms for path, forms in canaries.items() if forms} == {}
    assert [str(path) for path in files if WORD in str(path)] == []
