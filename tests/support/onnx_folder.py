"""A folder with a small ONNX model and its tokenizer: each word has a vector, and some words share one.

The model is one step, which looks the vectors of words up in a table. It is written byte by byte, as the file
is a message of Protocol Buffers: a field is its number, its kind and its value.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

MEANINGS: Final = (
    ("car", "automobile"),
    ("buy", "purchase"),
    ("milk", "dairy"),
    ("fix", "repair"),
    ("bug", "defect"),
)
"""Words that mean the same, to the model."""
PAD: Final = "[PAD]"
UNKNOWN: Final = "[UNK]"
FLOAT, INTEGER = 1, 7


def make(
    folder: Path,
    *,
    meanings: Sequence[Sequence[str]] = MEANINGS,
    dimensions: int = 300,
    of_first: bool = False,
) -> Path:
    """Write the files. With ``of_first`` a text has the vector of its first word, else the mean of all."""
    folder.mkdir(exist_ok=True)
    vocabulary = {
        word: number for number, word in enumerate([PAD, UNKNOWN, *(w for each in meanings for w in each)])
    }
    table = np.zeros((len(vocabulary), dimensions), np.float32)
    for place, meant in enumerate(meanings):
        table[[vocabulary[word] for word in meant], place] = 1.0
    (folder / "model.onnx").write_bytes(_model(table))
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    about = {"tokenizer_config.json": {"model_max_length": 128, "pad_token": PAD}}
    if of_first:
        about["1_Pooling/config.json"] = {"pooling_mode_cls_token": True}
    for name, value in about.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(value))
    return folder


def _model(table: np.ndarray) -> bytes:
    """Return the file of a model that answers, for the numbers of tokens, the rows of a table."""
    shape = b"".join(_field(1, size) for size in table.shape)
    rows = shape + _field(2, FLOAT) + _field(8, b"table") + _field(9, table.tobytes())
    step = _field(1, b"table") + _field(1, b"input_ids") + _field(2, b"vectors") + _field(4, b"Gather")
    numbers = _value(b"input_ids", INTEGER, [b"texts", b"tokens"])
    vectors = _value(b"vectors", FLOAT, [b"texts", b"tokens", table.shape[1]])
    graph = (
        _field(1, step) + _field(2, b"words") + _field(5, rows) + _field(11, numbers) + _field(12, vectors)
    )
    return _field(1, 8) + _field(7, graph) + _field(8, _field(1, b"") + _field(2, 13))


def _value(name: bytes, kind: int, sizes: Sequence[bytes | int]) -> bytes:
    """Return the name, the type and the shape of what goes in or comes out; an unknown size has a name."""
    shape = b"".join(_field(1, _field(2 if isinstance(size, bytes) else 1, size)) for size in sizes)
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, shape)))


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes([*encoded, value])
