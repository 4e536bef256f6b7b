"""Decoders of files that may be hostile, in a process of their own (docs/decisions/0022): the parent's side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from agentsvc_nb.formats.sandbox import LimitedChild, Limits
from agentsvc_nb.notebook.previews.kinds import CannotShow
from agentsvc_nb.wire.text import label

CHILD: Final = "agentsvc_nb.notebook.previews.child"
PATIENCE_SECONDS: Final = 20.0
"""How long the decoding of one file may take."""
ANSWER_BYTES: Final = 1_000_000
"""The longest answer that is read, if it is to be shown."""
LIMITS: Final = Limits(memory_bytes=2**30, file_bytes=0)
"""The limits of the process. The child itself limits the processor time of each file."""


def asked(decoder: str, place: Path, answer_bytes: int = ANSWER_BYTES) -> dict[str, Any]:
    """Decode one file with the decoder of `child` of this name. Raises `CannotShow` when it cannot be decoded."""
    with Decoder(decoder, answer_bytes) as child:
        return child.asked(place)


class Decoder:
    """A decoder of `child` in a process that decodes files one after the other. Not thread-safe.

    The process is started with the first file, and again after a file that exceeded its limits.
    """

    def __init__(self, name: str, answer_bytes: int = ANSWER_BYTES) -> None:
        self._name = name
        self._answer_bytes = answer_bytes
        self._child: LimitedChild | None = None

    def __enter__(self) -> Decoder:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def asked(self, place: Path) -> dict[str, Any]:
        """Decode a file and return the decoder's answer, which is to be trusted no more than the file.

        Raises `CannotShow` when the file cannot be decoded within the limits.
        """
        child = self._child = self._child or LimitedChild(CHILD, self._name, limits=LIMITS, folder=place.parent)
        question = json.dumps(str(place)).encode("ascii")  # ASCII, because the child may have another locale
        answer = child.ask(question, PATIENCE_SECONDS, self._answer_bytes)
        if not answer.endswith(b"\n"):
            self._end()
            if len(answer) <= self._answer_bytes:
                raise CannotShow("it takes too long or too much memory to be looked at, or it is damaged.")
        found = _parsed(answer)
        if reason := found.get("error"):
            raise CannotShow(label(reason, 300))
        return found

    def _end(self) -> None:
        if child := self._child:
            self._child = None
            child.close()


def _parsed(answer: bytes) -> dict[str, Any]:
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise CannotShow("its decoder gave no answer that can be read.")
    return found
