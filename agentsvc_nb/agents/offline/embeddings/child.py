"""The child process of `engine`: all-MiniLM-L6-v2 in ONNX Runtime. A question is JSON, the model's file and texts; its
answer their vectors of length 1 as 16-bit floats, one after the other."""

from __future__ import annotations

import json
import os
from functools import cache
from typing import Final

import numpy as np
import onnxruntime

from agentsvc_nb.agents.offline.embeddings.wordpiece import token_ids
from agentsvc_nb.formats.children.pool import answer_questions

_ERRORS: Final = 3


@cache
def session(path: str) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = max((os.cpu_count() or 1) // 2, 1)  # the service has others to answer
    options.enable_cpu_mem_arena = False  # which never shrinks
    options.log_severity_level = _ERRORS
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def embed(path: str, text: str) -> bytes:
    tokens = np.array([token_ids(text)], np.int64)
    given = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": np.zeros_like(tokens)}
    mean = session(path).run(None, given)[0][0].mean(axis=0)
    return bytes((mean / np.linalg.norm(mean)).astype(np.float16).tobytes())


def answer(question: bytearray) -> bytes:
    """Each text is embedded alone: in a batch the short ones are as dear as the longest."""
    given = json.loads(question)
    return b"".join(embed(given["file"], text) for text in given["texts"])


if __name__ == "__main__":
    answer_questions(answer)
