"""An embedding model behind an address, for which an HTTP server with faults stands in; one in a folder."""

from __future__ import annotations

import hashlib
import json
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from graphmem import settings as graphmem_settings
from graphmem.context import Services
from graphmem.embedding import new_embedder
from graphmem.embedding.model_service import ANSWER_BYTES_LIMIT, RemoteEmbedder
from graphmem.errors import ConfigurationInvalid, EmbeddingRefused, EmbeddingUnavailable
from graphmem.settings import Settings
from graphmem.worker import claim, make_vectors
from graphmem.writing import Writers
from tests.support import onnx_folder
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner

KEY = "key-of-the-model"
INFINITE = json.dumps({"data": [{"index": 0, "embedding": [1e308] * 256}]}).encode()
"""An answer whose vector has no finite length."""
GENEROUS = 30.0
"""A time limit, in seconds, that a busy machine keeps too."""


@dataclass
class Model:
    """A service that makes vectors from the words of a text, and the requests that it got."""

    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: set[str | None] = field(default_factory=set)
    statuses: list[int] = field(default_factory=list)
    """What it answers first, instead of vectors."""
    refuses: str = "\x00never"
    dimensions: int = 256
    seconds: float = 0.0
    prompt_answers: int = 0
    """The number of first answers that do not take these seconds."""
    answer: bytes | None = None
    url: str = ""

    def vectors(self, body: dict[str, Any]) -> dict[str, Any]:
        rows = [{"index": i, "embedding": self.vector(text)} for i, text in enumerate(body["input"])]
        return {"object": "list", "data": rows[::-1], "model": body["model"]}

    def vector(self, text: str) -> list[float]:
        components = [0.0] * self.dimensions
        for word in text.lower().replace(".", " ").split():
            components[int(hashlib.sha256(word.encode()).hexdigest(), 16) % self.dimensions] += 2.0
        return components


@pytest.fixture
def model() -> Iterator[Model]:
    served = Model()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            served.requests.append({**body, "path": self.path})
            served.keys.add(self.headers["Authorization"])
            time.sleep(served.seconds if len(served.requests) > served.prompt_answers else 0)
            status = served.statuses.pop(0) if served.statuses else 200
            if any(served.refuses in text for text in body["input"]):
                status = 400
            answer = served.answer or json.dumps(served.vectors(body)).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        served.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield served
        finally:
            server.shutdown()
            thread.join()


def settings_for(settings: Settings, model: Model, **more: Any) -> Settings:
    options = {"embedding_url": model.url, "embedding_key": KEY, "embedding_timeout": GENEROUS, **more}
    return graphmem_settings.load(
        neo4j_uri=settings.neo4j_uri, neo4j_password=settings.neo4j_password.get_secret_value(),
        data_dir=settings.data_dir, embedding_model=f"words {uuid.uuid4()}", **options,
    )  # fmt: skip


@pytest.fixture
def remote(services: Services, settings: Settings, model: Model, loop: Loop) -> Iterator[Services]:
    """The services of a process that asks that model."""
    with using(services, settings_for(settings, model), loop) as asking:
        yield asking


@contextmanager
def using(services: Services, chosen: Settings, loop: Loop) -> Iterator[Services]:
    """Yield the services of a process with the model of some settings."""
    embedder = new_embedder(chosen)
    writers = Writers(services.database, chosen, embedder)
    asking = replace(services, settings=chosen, embedder=embedder, writers=writers)
    # The workers of the services of other tests rest meanwhile.
    loop.run(claim(asking))
    yield asking
    loop.run(claim(services))
    loop.run(writers.close())
    loop.run(embedder.close())


def understand_all(loop: Loop, services: Services, owner: str) -> None:
    """Make the vectors of an owner's entities. Other tests leave entities without vectors."""
    while loop.run(make_vectors(services, owner)):
        pass


@pytest.fixture
def remote_run(loop: Loop, remote: Services, owner: str) -> Call:
    return by_runner(loop, remote, owner)


def store(run: Call, *names: str) -> list[str]:
    answer = run("store", entities=[{"entity_type": "thing", "name": name} for name in names])
    return [item["entity_id"] for item in answer["entities"]]


def hits_by_meaning(run: Call, query: str) -> list[str]:
    explained = run("search.explain", search=query)
    return [hit["entity_id"] for hit in explained["strategies"][2]["hits"]]


def test_what_is_stored_waits_for_its_vector_and_says_so(
    remote_run: Call, loop: Loop, remote: Services, model: Model, owner: str
) -> None:
    milk, _ = store(remote_run, "buy milk", "login bug")
    assert not model.requests
    explained = remote_run("search.explain", search="milk shopping")
    assert (explained["semantic"], hits_by_meaning(remote_run, "milk shopping")) == ("pending", [])
    assert remote_run("server.stats")["semantic_pending"] == 2
    understand_all(loop, remote, owner)
    assert hits_by_meaning(remote_run, "milk shopping") == [milk]
    explained = remote_run("search.explain", search="milk shopping")
    assert (explained["semantic"], explained["compared"]["model"]) == ("ready", remote.embedder.model)
    assert remote_run("server.check_snapshots")["healthy"]
    assert model.keys == {f"Bearer {KEY}"}
    first = model.requests[0]
    assert (first["path"], first["dimensions"]) == ("/v1/embeddings", 256)
    remote_run("entities.correct", entity_id=milk, field="name", value="sell cows")
    assert hits_by_meaning(remote_run, "buy milk") == []
    assert remote_run("server.stats")["semantic_pending"] == 1
    understand_all(loop, remote, owner)
    assert hits_by_meaning(remote_run, "cows") == [milk]


def test_the_worker_goes_on_where_it_was_interrupted_and_in_batches(
    remote_run: Call, loop: Loop, remote: Services, model: Model, owner: str
) -> None:
    thing_ids = store(remote_run, *(f"thing number {i}" for i in range(70)))
    assert loop.run(make_vectors(remote, owner)) == 64
    model.statuses = [401]
    with pytest.raises(EmbeddingUnavailable):
        loop.run(make_vectors(remote, owner))
    assert remote_run("server.stats")["semantic_pending"] == 6
    assert loop.run(make_vectors(remote, owner)) == 6
    assert loop.run(make_vectors(remote, owner)) == 0
    assert len(hits_by_meaning(remote_run, "thing number 7")) > 0
    assert set(hits_by_meaning(remote_run, "thing number")) <= set(thing_ids)


def test_a_text_that_is_refused_keeps_no_other_from_its_vector(
    remote_run: Call, loop: Loop, remote: Services, model: Model, owner: str
) -> None:
    names = [f"thing {i}" for i in range(9)]
    thing_ids = store(remote_run, *names, "poison pill")
    model.refuses = "poison"
    understand_all(loop, remote, owner)
    assert set(hits_by_meaning(remote_run, "thing")) == set(thing_ids[:-1])
    assert remote_run("server.check_snapshots")["healthy"]


def test_a_search_waits_for_no_dead_model_and_says_so(
    remote_run: Call, loop: Loop, remote: Services, model: Model, owner: str
) -> None:
    store(remote_run, "buy milk")
    understand_all(loop, remote, owner)
    model.statuses = [503] * 9
    explained = remote_run("search.explain", search="milk")
    assert (explained["semantic"], explained["strategies"][1]["found"]) == ("unavailable", 1)
    assert explained["left_out"]
    model.statuses = [503, 429]
    assert remote_run("search.explain", search="milk")["semantic"] == "ready"


@pytest.mark.parametrize(
    ("fault", "error", "message"),
    [
        ({"statuses": [401]}, EmbeddingUnavailable, "401"),
        ({"statuses": [404]}, EmbeddingUnavailable, "404"),
        ({"statuses": [413]}, EmbeddingRefused, "413"),
        ({"statuses": [302]}, EmbeddingUnavailable, "302"),
        ({"statuses": [500] * 9}, EmbeddingUnavailable, "500"),
        ({"dimensions": 1536}, EmbeddingUnavailable, "1536 dimensions"),
        ({"answer": b"<html>"}, EmbeddingUnavailable, "something else"),
        ({"answer": b"[]"}, EmbeddingUnavailable, "something else"),
        ({"answer": b'{"data": []}'}, EmbeddingUnavailable, "0 vectors for 2"),
        ({"answer": b'{"data": [{"index": 0, "embedding": ["x"]}]}'}, EmbeddingUnavailable, "something else"),
        ({"answer": INFINITE}, EmbeddingUnavailable, "something else"),
        ({"answer": b" " * (ANSWER_BYTES_LIMIT + 1)}, EmbeddingUnavailable, "more than 20,000,000 bytes"),
        ({"seconds": 4.0}, EmbeddingUnavailable, "does not answer in time"),
    ],
)
def test_every_fault_of_the_model_is_told_and_its_key_never(
    fault: dict[str, Any], error: type[Exception], message: str, loop: Loop, settings: Settings, model: Model
) -> None:
    for name, value in fault.items():
        setattr(model, name, value)
    limit = 2.0 if "seconds" in fault else GENEROUS
    embedder = RemoteEmbedder(settings_for(settings, model, embedding_timeout=limit))
    with pytest.raises(error, match=message) as failure:
        loop.run(embedder.embed(["a", "b"]))
    loop.run(embedder.close())
    assert KEY not in str(failure.value) + repr(failure.value.__cause__)


def test_when_time_ends_after_a_failed_attempt_that_failure_is_told(
    loop: Loop, settings: Settings, model: Model
) -> None:
    model.statuses, model.prompt_answers, model.seconds = [500], 1, 5.0
    embedder = RemoteEmbedder(settings_for(settings, model, embedding_timeout=4.0))
    with pytest.raises(EmbeddingUnavailable, match="answers 500"):
        loop.run(embedder.embed(["a"]))
    assert len(model.requests) == 2
    loop.run(embedder.close())


def test_nobody_at_the_address_is_told(loop: Loop, settings: Settings, model: Model) -> None:
    model.url = "http://127.0.0.1:9/v1/embeddings"
    embedder = RemoteEmbedder(settings_for(settings, model, embedding_timeout=2.0))
    with pytest.raises(EmbeddingUnavailable):
        loop.run(embedder.embed(["a"]))
    loop.run(embedder.close())


def test_an_address_that_is_none_is_refused_and_a_key_is_not_printed() -> None:
    with pytest.raises(ConfigurationInvalid):
        graphmem_settings.load(embedding_url="file:///etc/passwd")
    assert KEY not in repr(graphmem_settings.load(embedding_url="http://localhost", embedding_key=KEY))


def test_a_model_in_a_folder_finds_other_words_and_another_one_there_makes_all_vectors_anew(
    services: Services, settings: Settings, loop: Loop, owner: str, tmp_path: Path
) -> None:
    pytest.importorskip("fastembed", reason="needs pip install 'graphmem[fastembed]'")
    chosen = settings.model_copy(update={"embedder": f"fastembed:{onnx_folder.make(tmp_path / 'words')}"})
    with using(services, chosen, loop) as local:
        run = by_runner(loop, local, owner)
        car, _ = store(run, "automobile", "dairy")
        assert run("server.stats")["semantic_pending"] == 2
        understand_all(loop, local, owner)
        explained = run("search.explain", search="buy a car")
        assert explained["compared"]["model"] == local.embedder.model
        assert explained["strategies"][1]["hits"] == []
        assert [hit["entity_id"] for hit in explained["strategies"][2]["hits"]] == [car]
        assert run("server.check_snapshots")["healthy"]
    onnx_folder.make(tmp_path / "words", meanings=[("car", "dairy"), ("automobile", "wheel")])
    with using(services, chosen, loop) as local:
        run = by_runner(loop, local, owner)
        assert run("server.stats")["semantic_pending"] == 2
        understand_all(loop, local, owner)
        assert hits_by_meaning(run, "wheel") == [car]
