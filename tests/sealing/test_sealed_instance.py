"""A sealed instance as a whole: what is sealed is nowhere in clear, and every face needs the key."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from graphmem.auth import Scope, erasing
from graphmem.auth.accounts import Accounts
from graphmem.cli import initializing
from graphmem.cli.main import app
from graphmem.context import Services
from graphmem.database import instance_kind
from graphmem.database.driver import Database
from graphmem.doctor import database as doctor_database
from graphmem.doctor import machine
from graphmem.dump import verifying
from graphmem.errors import ConfigurationInvalid, DecryptionFailed, EncryptionKeyMissing, ObjectMissing
from graphmem.objects import ObjectStore
from graphmem.observability.metrics import Metrics
from graphmem.runtime import _with_token, connection, open_services
from graphmem.sealing import InstanceKeys, RootKey, keys_of
from graphmem.settings import Settings, load
from tests.support.database import database
from tests.support.dumps import Dumps
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner
from tests.support.object_places import directory_place
from tests.support.service import running

CANARY = "the canary sings"


@pytest.fixture
def objects(loop: Loop, tmp_path: Path) -> Iterator[ObjectStore]:
    store = directory_place(tmp_path / "data").sealed().open()
    yield store
    loop.run(store.close())


@pytest.fixture
def dumps(loop: Loop, services: Services, owner: str, tmp_path: Path, objects: ObjectStore) -> Dumps:
    """Dumps of a sealed instance."""
    assert objects._keys is not None
    sealed = replace(services, objects=objects, keys=objects._keys)
    return Dumps(loop, sealed, owner, tmp_path)


def keys(dumps: Dumps) -> InstanceKeys:
    assert dumps.services.keys is not None
    return dumps.services.keys


def answers(run: Call) -> Any:
    return run("server.stats")["state_hash"], run("sources.list"), run("entities.query", limit=500)


def test_a_dump_gives_the_same_answers_wherever_it_is_restored(
    loop: Loop, services: Services, dumps: Dumps
) -> None:
    run = by_runner(loop, dumps.services, dumps.owner)
    people = [
        {"entity_type": "person", "name": "Ada Lovelace", "born": 1816},
        {"entity_type": "person", "name": "Ada King"},
    ]
    link = {"relationship_type": "KNOWS", "source_index": 0, "target_index": 1, "metadata": {"since": CANARY}}
    ada, king = run("store", entities=people, relationships=[link])["entities"]
    run("entities.correct", entity_id=ada["entity_id"], field="born", value=1815)
    run("entities.merge", source_entity_id=king["entity_id"], target_entity_id=ada["entity_id"])
    file = base64.b64encode(CANARY.encode() * 1_000).decode()
    run("store", file_content=file, mime_type="text/plain", original_filename=f"{CANARY}.txt")
    run("store", entities=[{"entity_type": "note", "title": CANARY, "text": CANARY * 100}])
    before = answers(run)
    made = dumps.create()
    plain = Dumps(loop, replace(dumps.services, keys=None), dumps.owner, dumps.folder).create("plain")
    for path in (path for path in dumps.folder.rglob("*") if path.is_file() and path != plain.path):
        data = path.read_bytes()
        assert CANARY.encode() not in data, path
        assert b"Lovelace" not in data, path
    closed = verifying.verify(made.path)
    assert (closed.is_opened, closed.manifest.contents) == (False, plain.manifest.contents)
    dumps.wipe()
    with pytest.raises(DecryptionFailed, match="--keys"):
        dumps.restore(made, keys=None)
    for target in (dumps.services, services):
        there = Dumps(loop, target, dumps.owner, dumps.folder)
        restored = there.restore(made, keys=keys(dumps))
        assert (restored.conflict_count, restored.files) == (0, plain.manifest.contents["owners"][0]["files"])
        assert answers(by_runner(loop, target, dumps.owner)) == before
        assert there.create("again").manifest.contents == made.manifest.contents
        there.wipe()


def test_what_an_erased_owner_has_in_backups_and_files_cannot_be_read_again(
    loop: Loop, services: Services, dumps: Dumps
) -> None:
    accounts = Accounts(services.database)
    account = loop.run(accounts.create(f"erased-{dumps.owner[:8]}", frozenset({Scope.READ}), None))
    for owner in (account.owner, dumps.owner):
        run = by_runner(loop, dumps.services, owner)
        stored = run("store", entities=[{"entity_type": "note", "title": CANARY}], file_content="YWJj")
    content_hash = run("sources.get", source_id=stored["source_id"])["content_hash"]
    made = dumps.create("both", account.owner, dumps.owner)
    erasure = erasing.delete_with_data(
        services.database, account.name, objects=dumps.services.objects, keys=keys(dumps)
    )
    erased = loop.run(erasure)
    assert (erased.sealing_keys, erased.files) == (1, 1)
    assert [each.owner for each in keys(dumps).record().destroyed] == [account.owner]
    assert loop.run(dumps.services.objects.exists(dumps.owner, content_hash))
    dumps.wipe()
    restored = dumps.restore(made)
    assert (restored.owners, restored.verified.erased_owners) == (1, (account.owner,))
    assert run("server.stats")["total_entities"] == 1
    assert by_runner(loop, services, account.owner)("server.stats")["total_entities"] == 0
    with pytest.raises(ObjectMissing):
        loop.run(dumps.services.objects.size(account.owner, content_hash))


def invoke(*words: str, stdin: str = "", exit_code: int = 0) -> dict[str, Any]:
    result = CliRunner().invoke(app, [*words, "--json"], input=stdin, catch_exceptions=False)
    assert result.exit_code == exit_code, (result.stdout, result.stderr)
    return json.loads(result.stderr.splitlines()[-1] if exit_code else result.stdout)


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings of an instance that `graphmem init --encrypt` may make: no database is started."""
    monkeypatch.setattr(initializing, "open_instance", lambda chosen: None)
    monkeypatch.setenv("GRAPHMEM_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("GRAPHMEM_ROOT_KEY_DIR", str(tmp_path / "keys"))
    monkeypatch.setenv("GRAPHMEM_ENV", "test")
    return load()


def test_a_person_makes_keys_loses_them_and_has_them_back(instance: Settings, tmp_path: Path) -> None:
    made = invoke("init", "--yes", "--no-agents", "--encrypt")["encryption"]
    words, key_id = made["root_key_words"], made["root_key"]
    assert (made["result"], len(words.split())) == ("sealed", 24)
    assert invoke("init", "--yes", "--no-agents", "--encrypt")["encryption"]["result"] == "as asked"
    status = invoke("encryption", "status")
    assert (status["root_key"], status["root_key_kept_in"]) == (key_id, made["kept_in"])
    token = invoke("auth", "mcp-token")["token"]
    Path(made["kept_in"]).unlink()
    assert invoke("auth", "mcp-token", exit_code=6)["details"]["needed"] == key_id
    other = RootKey.new()
    assert invoke("encryption", "restore", stdin=other.words, exit_code=6)["details"]["key_id"] == other.id
    assert invoke("encryption", "restore", stdin=f"{words}\n")["root_key"] == key_id
    assert invoke("auth", "mcp-token")["token"] == token
    assert invoke("auth", "mcp-token", "--rotate")["token"] != token


def test_another_root_key_opens_what_the_first_one_sealed(instance: Settings, tmp_path: Path) -> None:
    first = invoke("init", "--yes", "--no-agents", "--encrypt")["encryption"]
    before = keys_of(instance)
    assert before is not None
    key = before.of("ada")
    copy = invoke("encryption", "copy", str(tmp_path / "copy.json"))
    rotated = invoke("encryption", "rotate")
    assert (rotated["replaces"], rotated["data_keys"]) == (first["root_key"], 1)
    assert not Path(first["kept_in"]).exists()
    after = keys_of(instance)
    assert after is not None
    assert after.find(key.id).secret == key.secret
    after.destroy("ada")
    proof = invoke("erasure", "prove", "ada")
    assert [row["key"] for row in proof["destroyed"]] == [key.id]
    assert [row["id"] for row in proof["copies_to_destroy"]] == [copy["id"]]
    shown = CliRunner().invoke(app, ["erasure", "prove"])
    assert key.id in shown.stdout
    assert copy["id"] in shown.stderr
    words = ["encryption", "restore", "--keys", str(tmp_path / "copy.json")]
    assert invoke(*words, stdin=first["root_key_words"])["root_key"] == first["root_key"]


def test_a_service_that_runs_finds_the_root_key_that_another_process_made(instance: Settings) -> None:
    invoke("init", "--yes", "--no-agents", "--encrypt")
    serving = keys_of(instance)
    assert serving is not None
    key, token = serving.of("ada"), serving.token()
    invoke("encryption", "rotate")
    assert serving.of("ada") == key
    assert serving.of("eve") == keys_of(instance).of("eve")  # pyright: ignore[reportOptionalMemberAccess]
    assert serving.token() != token
    others = {each.id for each in serving.record().keys if each.owner != "ada"}
    rotated = invoke("encryption", "rotate", "--data", "--owner", "ada")
    assert (rotated["data_keys"], rotated["keys_to_replace"]) == (1, 1)
    assert serving.of("ada") != key
    assert others == {each.id for each in serving.record().keys if each.owner != "ada"}
    assert serving.find(key.id).secret == key.secret
    for words in (["--data", "--owner", "nobody"], ["--owner", "ada"]):
        assert "--owner" in invoke("encryption", "rotate", *words, exit_code=6)["message"]


def test_a_root_key_of_the_environment_is_taken(instance: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    root = RootKey.new()
    monkeypatch.setenv("GRAPHMEM_ROOT_KEY", root.secret.hex())
    made = invoke("init", "--yes", "--no-agents", "--encrypt")["encryption"]
    assert (made["root_key"], made["kept_in"]) == (root.id, "GRAPHMEM_ROOT_KEY")
    assert invoke("encryption", "status")["root_key_kept_in"] == "GRAPHMEM_ROOT_KEY"
    assert "unset it" in invoke("encryption", "rotate", exit_code=6)["message"]


def test_the_doctor_says_which_root_key_is_missing(instance: Settings) -> None:
    assert machine.encryption(instance) == []
    made = invoke("init", "--yes", "--no-agents", "--encrypt")["encryption"]
    (found,) = machine.encryption(instance)
    assert (found.status, made["root_key"] in found.what) == ("ok", True)
    Path(made["kept_in"]).unlink()
    (lost,) = machine.encryption(instance)
    assert (lost.status, made["root_key"] in lost.what) == ("fail", True)


def test_words_are_shown_to_a_person_once(instance: Settings) -> None:
    runner = CliRunner()
    shown = runner.invoke(app, ["init", "--yes", "--no-agents", "--encrypt"])
    keys = keys_of(instance)
    assert keys is not None
    for word in keys._root.words.split():
        assert word in shown.stderr
    again = runner.invoke(app, ["init", "--yes", "--no-agents", "--encrypt"])
    assert "24 words" not in again.stderr


def test_an_instance_with_data_is_not_sealed(instance: Settings) -> None:
    instance.objects_path.mkdir(parents=True)
    refusal = invoke("init", "--yes", "--no-agents", "--encrypt", exit_code=6)
    assert "encryption enable" in refusal["message"]
    assert not instance.keys_path.exists()
    status = invoke("encryption", "status")
    assert (status["sealed"], status["key_file"]) == (False, str(instance.keys_path))
    # Where the key file was lost, the instance is sealed all the same.
    assert "graphmem doctor" in status["hint"]
    assert "init --encrypt" in invoke("encryption", "rotate", exit_code=6)["message"]


def test_a_sealed_instance_takes_no_other_token(instance: Settings) -> None:
    keys = InstanceKeys.create(instance.keys_path, RootKey.new())
    sealed = _with_token(instance, keys)
    assert sealed.bearer_token is not None
    assert sealed.bearer_token.get_secret_value() == keys.token()
    assert not sealed.may_be_open
    own = load(bearer_token="x" * 40)
    with pytest.raises(ConfigurationInvalid, match="mcp-token"):
        _with_token(own, keys)
    assert _with_token(own, None) is own


def test_a_database_with_facts_in_clear_is_not_sealed(services: Services, loop: Loop, owner: str) -> None:
    by_runner(loop, services, owner)("store", entities=[{"entity_type": "note", "title": "in clear"}])
    with pytest.raises(ConfigurationInvalid, match="not sealed"):
        loop.run(instance_kind.claim(services.database, is_sandbox=False, sealed="an instance"))
    loop.run(instance_kind.claim(services.database, is_sandbox=False))


@pytest.mark.long
def test_a_sealed_instance_from_its_first_start_to_the_loss_of_its_keys(
    tmp_path: Path, loop: Loop, owner: str
) -> None:
    root = RootKey.new()
    with database(tmp_path / "db", shared=False) as settings:
        folder = tmp_path / "data"
        folder.mkdir(mode=0o700)
        token = InstanceKeys.create(folder / "keys.json", root).token()
        with running(settings, folder, owner, GRAPHMEM_ROOT_KEY=root.words) as service:
            file = base64.b64encode(CANARY.encode() * 99).decode()
            # Neo4j packs short texts: only long ones stand in its files as they are.
            person = {
                "entity_type": "person",
                "name": CANARY * 9,
                "note": CANARY * 999,
                "email": f"{'a' * 60}@b.org",
            }
            body = {
                "file_content": file, "mime_type": "text/plain", "original_filename": f"{CANARY * 9}.txt",
                "entities": [person, {"entity_type": "note", "title": "Eve"}], "idempotency_key": CANARY * 9,
                "relationships": [
                    {"relationship_type": "KNOWS", "source_index": 0, "target_index": 1,
                     "metadata": {"how": CANARY * 9}}
                ],
            }  # fmt: skip
            assert httpx.post(f"{service.url}/store", json=body).status_code == 401
            http = httpx.Client(
                base_url=service.url, headers={"Authorization": f"Bearer {token}"}, timeout=120
            )
            stored = http.post("/store", json=body).json()
            where = f"/sources/{stored['source_id']}/content"
            assert http.get(where).text == CANARY * 99
            part = http.get(where, headers={"Range": "bytes=4-9"})
            assert (part.status_code, part.text) == (206, CANARY[4:10])
            about = httpx.get(f"{service.url}/server-info").json()
            assert (about["authentication"], about["sealed"]) == ("bearer", ["files", "backups", "values"])
            entity = stored["entities"][0]["entity_id"]
            assert http.get(f"/entities/{entity}").json()["snapshot"]["note"] == CANARY * 999
            assert http.get("/entities", params={"search": CANARY}).json()["entities"]
        objects = [path for path in (folder / "objects").rglob("*") if path.is_file()]
        assert sum(path.stat().st_size > 0 for path in objects) == 1
        assert not any(CANARY.encode() in path.read_bytes() for path in objects)
        written = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert any("🔒".encode() in path.read_bytes() for path in written), "the files of the database"
        for path in written:
            data = path.read_bytes()
            assert CANARY.encode() not in data, path
            assert b"a" * 60 not in data, path

        async def opened(**changed: Any) -> None:
            async with open_services(settings.model_copy(update=changed)):
                pass

        async def doctor(**changed: Any) -> str:
            chosen = settings.model_copy(update=changed)
            graph = Database(await connection(chosen), chosen, Metrics())
            finding = await doctor_database._sealing(graph, chosen)
            await graph.close()
            return finding.status  # pyright: ignore[reportAttributeAccessIssue]

        with pytest.raises(EncryptionKeyMissing, match="GRAPHMEM_KEY_FILE"):
            loop.run(opened())
        assert loop.run(doctor()) == "fail"
        other = tmp_path / "other.json"
        InstanceKeys.create(other, root)
        with pytest.raises(EncryptionKeyMissing, match="belongs to the sealed instance"):
            loop.run(opened(key_file=other, root_key=SecretStr(root.words)))
        assert loop.run(doctor(key_file=other)) == "fail"
        assert loop.run(doctor(key_file=folder / "keys.json")) == "ok"
        with pytest.raises(EncryptionKeyMissing, match=root.id):
            loop.run(opened(key_file=folder / "keys.json", root_key_dir=tmp_path / "nowhere"))
        loop.run(opened(key_file=folder / "keys.json", root_key=SecretStr(root.words)))
