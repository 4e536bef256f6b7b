"""The child process of `judges`: it reads documents and judges schemas and answers.

A question is a line of JSON and, for a document, its bytes; an answer is a line of JSON and the long texts, in order.
"""

from __future__ import annotations

import json

from agentsvc_nb.formats.children.pool import answer_questions
from agentsvc_nb.formats.schemas import output


def answer(question: bytearray) -> list[bytes]:
    end = question.index(b"\n")
    asked = json.loads(question[:end])
    if "read" in asked:
        del question[: end + 1]
        return _read(question, **asked["read"])
    said = output.misfit(**asked["misfit"]) if "misfit" in asked else output.fault(asked["fault"])
    return [json.dumps(said).encode()]


def _read(
    data: bytearray, fields: list[str] | None, most_values: int, long_chars: int, field_bytes: int
) -> list[bytes]:
    try:
        document = output.read_object(data, most_values)
    except ValueError as error:
        return [json.dumps({"fault": str(error)}).encode() + b"\n"]
    if fields is not None:
        document = {name: value for name, value in document.items() if name in fields}
    long = [name for name, value in document.items() if _is_long(value, long_chars)]
    texts = {name: document.pop(name).encode() for name in long}
    too_large = [] if fields is None else [name for name, value in document.items() if _size(value) > field_bytes]
    given = {name: value for name, value in document.items() if name not in too_large}
    lengths = {name: len(text) for name, text in texts.items()}
    line = json.dumps({"given": given, "texts": lengths, "too_large": too_large}, ensure_ascii=False).encode()
    return [line, b"\n", *texts.values()]


def _is_long(value: object, long_chars: int) -> bool:
    return isinstance(value, str) and len(value) > long_chars


def _size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode())


if __name__ == "__main__":
    answer_questions(answer)
