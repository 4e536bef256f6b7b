"""The child process of `embeddings`: all-MiniLM-L6-v2 in ONNX Runtime, and the tokens that it reads. A question is
JSON, the model's file and texts; its answer their vectors of length 1 as 16-bit floats, one after the other."""

from __future__ import annotations

import json
import os
import unicodedata
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

import numpy as np

from agentsvc_nb.documents.children.pool import answer_questions

if TYPE_CHECKING:
    import onnxruntime

_ERRORS: Final = 3


@cache
def _session(path: str) -> onnxruntime.InferenceSession:
    import onnxruntime  # an extra: the tokens are read without it

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = max((os.cpu_count() or 1) // 2, 1)  # the service has others to answer
    options.enable_cpu_mem_arena = False  # which never shrinks
    options.log_severity_level = _ERRORS
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _embed(path: str, text: str) -> bytes:
    tokens = np.array([token_ids(text)], np.int64)
    given = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": np.zeros_like(tokens)}
    mean = _session(path).run(None, given)[0][0].mean(axis=0)
    return bytes((mean / np.linalg.norm(mean)).astype(np.float16).tobytes())


def _answer(question: bytearray) -> bytes:
    """Each text is embedded alone: in a batch the short ones are as dear as the longest."""
    given = json.loads(question)
    return b"".join(_embed(given["file"], text) for text in given["texts"])


TOKENS_MAX: Final = 256
"""What all-MiniLM-L6-v2 was trained to read at once; the rest of a text is left out."""
_WORD_CHARS: Final = 100
_BEGIN, _END, _UNKNOWN = "[CLS]", "[SEP]", "[UNK]"


@cache
def vocabulary() -> dict[str, int]:
    words = files(__package__).joinpath("vocabulary.txt").read_text("utf-8").split("\n")
    return {word: number for number, word in enumerate(words) if word}


def token_ids(text: str) -> list[int]:
    """The numbers of a text's tokens, between those of its beginning and its end.

    >>> [word for one in token_ids("Café, embeddings") for word, number in vocabulary().items() if number == one]
    ['[CLS]', 'cafe', ',', 'em', '##bed', '##ding', '##s', '[SEP]']
    """
    found: list[int] = []
    for word in _words(text):
        found += _pieces(word)
        if len(found) >= TOKENS_MAX:
            break
    known = vocabulary()
    return [known[_BEGIN], *found[: TOKENS_MAX - 2], known[_END]]


def _words(text: str) -> list[str]:
    """The words of a text, folded; each sign, and each character of a script without blanks, is one."""
    plain = "".join(char for char in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(char) != "Mn")
    return "".join(_spaced(char) for char in plain).split()


def _spaced(char: str) -> str:
    if char.isspace():
        return " "
    kind = unicodedata.category(char)
    if kind in ("Cc", "Cf", "Co", "Cs") or char == "\ufffd":
        return ""
    alone = kind.startswith("P") or (char.isascii() and not char.isalnum()) or _is_ideograph(char)
    return f" {char} " if alone else char


def _is_ideograph(char: str) -> bool:
    return (
        "\u3400" <= char <= "\u4dbf"
        or "\u4e00" <= char <= "\u9fff"
        or "\uf900" <= char <= "\ufaff"
        or char > "\U0001ffff"
    )


def _pieces(word: str) -> list[int]:
    """The longest pieces of a word, from its beginning; one number for a word that can't be put together."""
    known, found, at = vocabulary(), list[int](), 0
    if len(word) > _WORD_CHARS:
        return [known[_UNKNOWN]]
    while at < len(word):
        mark = "##" if at else ""
        end = next((end for end in range(len(word), at, -1) if mark + word[at:end] in known), None)
        if end is None:
            return [known[_UNKNOWN]]
        found.append(known[mark + word[at:end]])
        at = end
    return found


if __name__ == "__main__":
    answer_questions(_answer)
