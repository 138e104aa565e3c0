"""A model of the package fastembed, in a folder or fetched by its name from a server of the test."""

from __future__ import annotations

import io
import re
import sys
import tarfile
import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphmem import settings as graphmem_settings
from graphmem.embedding import new_embedder
from graphmem.embedding.meaning import DIMENSIONS
from graphmem.errors import ConfigurationInvalid
from tests.support import onnx_folder
from tests.support.event_loop import Loop
from tests.support.imports import imported_by


@pytest.fixture
def fastembed() -> Any:
    return pytest.importorskip("fastembed", reason="needs pip install 'graphmem[fastembed]'")


def vectors(loop: Loop, folder: Path, *texts: str) -> list[Any]:
    embedder = new_embedder(graphmem_settings.load(embedder=f"fastembed:{folder}"))
    assert not embedder.at_once
    return loop.run(embedder.embed(texts))


@pytest.mark.usefixtures("fastembed")
@pytest.mark.parametrize("dimensions", [8, 384])
def test_words_of_one_meaning_have_one_vector_of_256_components(
    loop: Loop, tmp_path: Path, dimensions: int
) -> None:
    folder = onnx_folder.make(tmp_path / "words", dimensions=dimensions)
    car, automobile, milk, nothing = vectors(
        loop, folder, "buy a CAR", "purchase automobile", "milk", "zebra"
    )
    assert len(car) == DIMENSIONS
    assert np.dot(car, automobile) == pytest.approx(np.dot(car, car))
    assert np.dot(car, milk) == 0
    assert nothing is None


@pytest.mark.usefixtures("fastembed")
def test_the_folder_says_whether_the_first_token_stands_for_the_text(loop: Loop, tmp_path: Path) -> None:
    mean = onnx_folder.make(tmp_path / "mean")
    first = onnx_folder.make(tmp_path / "first", of_first=True)
    car, both = vectors(loop, mean, "car", "car milk")
    assert np.dot(car, both) == pytest.approx(0.5**0.5)
    car, both = vectors(loop, first, "car", "car milk")
    assert np.dot(car, both) == pytest.approx(1.0)


@pytest.mark.usefixtures("fastembed")
def test_another_model_in_the_same_folder_has_another_name(tmp_path: Path) -> None:
    chosen = graphmem_settings.load(embedder=f"fastembed:{onnx_folder.make(tmp_path / 'words')}")
    before = new_embedder(chosen).model
    assert "words" in before
    assert new_embedder(chosen).model == before
    onnx_folder.make(tmp_path / "words", meanings=[("car", "vehicle")])
    assert new_embedder(chosen).model != before


@pytest.mark.usefixtures("fastembed")
def test_a_folder_without_a_model_is_refused_with_the_files_that_it_lacks(tmp_path: Path) -> None:
    folder = onnx_folder.make(tmp_path / "words")
    for name in ("model.onnx", "tokenizer.json"):
        (folder / name).unlink()
    with pytest.raises(ConfigurationInvalid, match=r"words: the folder lacks model.onnx, tokenizer.json \("):
        new_embedder(graphmem_settings.load(embedder=f"fastembed:{folder}"))
    onnx_folder.make(folder)
    (folder / "model.onnx").write_bytes(b"no model")
    with pytest.raises(ConfigurationInvalid, match="GRAPHMEM_EMBEDDER"):
        new_embedder(graphmem_settings.load(embedder=f"fastembed:{folder}"))


@pytest.fixture
def named(fastembed: Any, tmp_path: Path) -> Iterator[str]:
    """The name of a model that fastembed fetches from a server of this test."""
    described = fastembed.common.model_description
    name = f"words-{uuid.uuid4()}"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.add(onnx_folder.make(tmp_path / "words"), name)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(packed.getvalue())))
            self.end_headers()
            self.wfile.write(packed.getvalue())

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        source = described.ModelSource(url=f"http://127.0.0.1:{server.server_address[1]}/{name}.tar.gz")
        fastembed.TextEmbedding.add_custom_model(
            f"tests/{name}", described.PoolingType.MEAN, True, source, 300, "model.onnx", size_in_gb=0.001
        )
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"tests/{name}"
        finally:
            server.shutdown()
            thread.join()


def test_a_model_is_fetched_once_by_its_name_and_never_offline(
    loop: Loop, tmp_path: Path, named: str
) -> None:
    chosen = graphmem_settings.load(embedder=f"fastembed:{named}", cache_dir=tmp_path / "cache", offline=True)
    with pytest.raises(
        ConfigurationInvalid, match="fetched once, unless GRAPHMEM_OFFLINE is set; a folder needs no network"
    ):
        new_embedder(chosen)
    fetched = new_embedder(chosen.model_copy(update={"offline": False}))
    assert named in fetched.model
    again = new_embedder(chosen)
    assert loop.run(again.embed(["automobile"])) == loop.run(fetched.embed(["car"]))


@pytest.mark.usefixtures("fastembed")
def test_a_name_that_is_unknown_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationInvalid, match="no/such-model"):
        new_embedder(graphmem_settings.load(embedder="fastembed:no/such-model", cache_dir=tmp_path))


def test_without_its_package_the_command_that_installs_it_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)
    with pytest.raises(ConfigurationInvalid, match=re.escape("pip install 'graphmem[fastembed]'")):
        new_embedder(graphmem_settings.load(embedder=f"fastembed:{tmp_path}"))


def test_it_is_imported_for_its_setting_alone() -> None:
    opened = (
        "import graphmem.runtime\n"
        "from graphmem.embedding import new_embedder\n"
        "from graphmem.settings import load\n"
        "new_embedder(load())\n"
        "new_embedder(load(embedding_url='http://127.0.0.1:9'))\n"
    )
    modules = imported_by(opened)
    assert "graphmem.embedding.fastembed_model" in modules
    assert not {
        name for name in modules if name.split(".")[0] in ("fastembed", "onnxruntime", "huggingface_hub")
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"embedder": "bge-small"},
        {"embedder": "fastembed:"},
        {"embedder": "fastembed:a", "embedding_url": "http://a"},
    ],
    ids=["kind", "empty", "two"],
)
def test_a_choice_that_is_none_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationInvalid):
        graphmem_settings.load(**wrong)
