"""Embedding in this process with a model of the package ``fastembed``: ONNX on the CPU, 10 ms a sentence.

The model is in a folder, or it is fetched once by its name. As with a service, the worker makes the vectors.
"""

import asyncio
import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

from graphmem.embedding.meaning import DIMENSIONS, Embedder, Vector, key, stored_name
from graphmem.errors import ConfigurationInvalid
from graphmem.neo4j_local.private_files import sha256
from graphmem.settings import Settings

FILES: Final = ("model.onnx", "tokenizer.json", "tokenizer_config.json")
ADVICE: Final = "a name is fetched once, unless GRAPHMEM_OFFLINE is set; a folder needs no network"


class FastEmbedder(Embedder):
    at_once = False

    def __init__(self, settings: Settings) -> None:
        try:
            name, self._model = _loaded((settings.embedder or "").removeprefix("fastembed:"), settings)
            # A text that fills the model's window.
            self._vector("graphmem " * 10_000)
        except Exception as exc:
            fix = "pip install 'graphmem[fastembed]'" if isinstance(exc, ImportError) else ADVICE
            raise ConfigurationInvalid(f"GRAPHMEM_EMBEDDER={settings.embedder}: {exc} ({fix})") from exc
        self.model, self.floor = stored_name(f"fastembed {name}"), settings.embedding_floor

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        # One by one: beside a longer text, a short one would take as long.
        return [await asyncio.to_thread(self._vector, text) for text in texts]

    def _vector(self, text: str) -> Vector | None:
        (row,) = self._model.embed(text)
        vector = np.pad(row[:DIMENSIONS], (0, max(0, DIMENSIONS - len(row))))
        return vector.tolist() if vector.any() and np.isfinite(vector).all() else None


def _loaded(named: str, settings: Settings) -> tuple[str, Any]:
    """Return a name that no other model has, and the model. More threads would take twice the CPU."""
    # So that types are checked without the package too.
    fastembed: Any = import_module("fastembed")
    TextEmbedding, described = fastembed.TextEmbedding, fastembed.common.model_description
    if not (folder := Path(named).expanduser()).is_absolute():
        cache = str(settings.cache_path / "models")
        return named, TextEmbedding(named, cache, threads=1, local_files_only=settings.offline)
    if lacking := [name for name in FILES if not (folder / name).is_file()]:
        raise ValueError(f"the folder lacks {', '.join(lacking)}")
    pooling = [*folder.glob("1_Pooling/config.json")]
    # The weights of a large model stand beside it, such as in model.onnx_data.
    files = [*sorted(folder.glob("model.onnx*")), folder / "tokenizer.json", *pooling]
    name = f"{folder.name} {key(' '.join(map(sha256, files)))}"
    if all(each["model"] != name for each in TextEmbedding.list_supported_models()):
        of_first = pooling and json.loads(pooling[0].read_text())["pooling_mode_cls_token"]
        how = described.PoolingType.CLS if of_first else described.PoolingType.MEAN
        TextEmbedding.add_custom_model(name, how, True, described.ModelSource(hf=name), DIMENSIONS, FILES[0])
    return name, TextEmbedding(name, threads=1, specific_model_path=str(folder))
