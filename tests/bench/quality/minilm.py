"""The vectors with which all-MiniLM-L6-v2 begins to read, out of its published weights, without anything else."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

_EPSILON: Final = 1e-12


def word_vectors(folder: Path) -> tuple[list[str], Array]:
    """The words of `vocab.txt`, and a vector each out of `model.safetensors`, normalised as the model does."""
    held = _tensors((folder / "model.safetensors").read_bytes())
    x = held["embeddings.word_embeddings.weight"]
    centred = x - x.mean(-1, keepdims=True)
    spread = np.sqrt((centred**2).mean(-1, keepdims=True) + _EPSILON)
    found = centred / spread * held["embeddings.LayerNorm.weight"] + held["embeddings.LayerNorm.bias"]
    return (folder / "vocab.txt").read_text("utf-8").splitlines(), np.asarray(found, np.float32)


def _tensors(data: bytes) -> dict[str, Array]:
    """The float tensors of a safetensors file."""
    size: int = struct.unpack("<Q", data[:8])[0]
    head, begin = json.loads(data[8 : 8 + size]), 8 + size
    found = {}
    for name, about in head.items():
        if about.get("dtype") == "F32":
            first, last = about["data_offsets"]
            found[name] = np.frombuffer(data[begin + first : begin + last], np.float32).reshape(about["shape"])
    return found
