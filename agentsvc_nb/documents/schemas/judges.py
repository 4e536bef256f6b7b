"""Strangers' JSON read, and their schemas judged, aside: in kept child processes with a deadline.

Python's parser and the validator hold the interpreter's lock while they work, so a thread would stop the event loop as
well (docs/decisions/0034-costly-json-is-judged-aside.md). The child runs this module, too: a question is a line of JSON
and, for a document, its bytes; an answer is a line of JSON and the long texts, in order.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final

from agentsvc_nb.documents.children.fairness import FairTurns
from agentsvc_nb.documents.children.pool import ChildPool, NoAnswer, NoChild, answer_questions
from agentsvc_nb.documents.sandbox import Limits
from agentsvc_nb.documents.schemas import output
from agentsvc_nb.wire.limits import INPUT_VALUES_MAX, JSON_MAX_BYTES, JSON_VALUES_MAX

LIMITS: Final = Limits(memory_bytes=2**30, file_bytes=0)
ASIDE_BYTES: Final = 64_000
"""A shorter document is read at once: that takes a millisecond or two, and the way to a child nearly as long."""
FIELD_BYTES: Final = 1_500_000
"""More than any field may take, the message of a start excepted: the largest is the content of a call's result."""
LARGE_BODIES: Final = 4
"""Bodies over `ASIDE_BYTES` that are in memory at a time."""
READ_SECONDS: Final = 20.0
"""For 16 MB and 100,000 values half a second suffices: a child that takes longer has a machine that does."""
JUDGE_SECONDS: Final = 5.0
LINE_SECONDS: Final = 5.0
"""How long a schema waits for others before its start is refused for now."""
_ANSWER_BYTES: Final = 4 * JSON_MAX_BYTES
_ACCEPTED_MAX: Final = 10_000
_SAID_BYTES: Final = 100_000
Document = dict[str, Any]
TOO_LARGE: Final = object()
"""Stands for a field's value that is larger than its field may be."""


class Judges:
    """The children that read and those that judge, so that no schema delays a document. To be closed."""

    def __init__(self) -> None:
        # Two pools, so that no schema delays a body (docs/decisions/0034-costly-json-is-judged-aside.md).
        self._reading = ChildPool(__name__, LIMITS)
        self._judging = ChildPool(__name__, LIMITS)
        self.large_bodies = FairTurns(LARGE_BODIES, share=LARGE_BODIES - 1)
        """To be taken before a body over `ASIDE_BYTES` is received: whoever waits takes no memory."""
        self.checks = FairTurns(1)
        """To be taken before a body over `ASIDE_BYTES` is checked in a thread: beside eight of them the event loop had
        a ninth of the interpreter."""
        self._answers = FairTurns(1)
        """One answer is judged at a time, so that a start waits for none."""
        self._accepted: set[bytes] = set()
        """Digests of schemas without a fault: the rows of a table come with the same one."""

    def close(self) -> None:
        self._reading.close()
        self._judging.close()

    async def read_object(self, data: bytearray, account: str, fields: Sequence[str] | None = None) -> Document:
        """The JSON object without its null values. `data` is emptied, as soon as the child has it. Raises `ValueError`
        with a sentence, and `NoAnswer`.

        With `fields`, only those of a document over `ASIDE_BYTES` are returned, and `TOO_LARGE` in place of a value,
        other than a text, that takes more than `FIELD_BYTES`; without, it may have `INPUT_VALUES_MAX` values only, as
        the caller looks at all of them.
        """
        most_values = INPUT_VALUES_MAX if fields is None else JSON_VALUES_MAX
        if len(data) <= ASIDE_BYTES:
            return output.read_object(data, most_values)
        bounds = {"most_values": most_values, "long_chars": ASIDE_BYTES, "field_bytes": FIELD_BYTES}
        asked = {"read": {"fields": fields, **bounds}}
        question = json.dumps(asked).encode() + b"\n"
        return _document(await self._reading.ask(question, READ_SECONDS, _ANSWER_BYTES, account, data))

    async def fault(self, config: object, account: str) -> str | None:
        """Why this is no acceptable `output_config`, in a sentence; None when it is one. Raises `NoChild`, also when it
        was not its turn for `LINE_SECONDS`."""
        if fault := output.shape_fault(config):
            return fault
        digest = sha256(json.dumps(config).encode()).digest()
        if digest in self._accepted:
            return None
        try:
            async with asyncio.timeout(LINE_SECONDS + JUDGE_SECONDS):
                fault = await self._judge({"fault": config}, account)
        except NoChild:
            raise
        except TimeoutError:
            raise NoChild("other schemas came first") from None
        except NoAnswer:
            return "output_config takes too long to be judged; make it and its patterns simpler."
        if fault is None:
            if len(self._accepted) >= _ACCEPTED_MAX:
                self._accepted.clear()
            self._accepted.add(digest)
        return fault

    async def misfit(self, text: str, config: output.Schema, account: str) -> str | None:
        """Why the answer does not fit its schema, in a sentence; None when it does. Judged in a thread if no child can
        be started: the answer may have been paid for."""
        try:
            async with self._answers.turn(account):
                return await self._judge({"misfit": {"text": text, "config": config}}, account)
        except NoChild:
            return await asyncio.to_thread(output.misfit, text, config)
        except NoAnswer:
            return "The answer can't be held to its schema, which takes too long."

    async def _judge(self, asked: Document, account: str) -> str | None:
        answer = await self._judging.ask(json.dumps(asked).encode() + b"\n", JUDGE_SECONDS, _SAID_BYTES, account)
        said: str | None = json.loads(answer)
        return said


def _document(answer: bytes) -> Document:
    start = answer.index(b"\n") + 1
    said = json.loads(answer[:start])
    if "fault" in said:
        raise ValueError(said["fault"])
    document: Document = said["given"] | dict.fromkeys(said["too_large"], TOO_LARGE)
    view = memoryview(answer)
    for name, length in said["texts"].items():
        document[name] = str(view[start : start + length], "utf-8")
        start += length
    return document


def _answer(question: bytearray) -> list[bytes]:
    end = question.index(b"\n")
    asked = json.loads(question[:end])
    if "read" in asked:
        del question[: end + 1]
        return _read_document(question, **asked["read"])
    said = output.misfit(**asked["misfit"]) if "misfit" in asked else output.fault(asked["fault"])
    return [json.dumps(said).encode()]


def _read_document(
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
    answer_questions(_answer)
