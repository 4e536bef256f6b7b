"""What a forked child must leave alone: connections that its parent goes on using, and locks of threads it has not."""

from __future__ import annotations

import atexit
import os
from typing import Any, Final

from agentsvc_nb.client.transport import deadlines
from agentsvc_nb.client.transport.io import Response
from agentsvc_nb.client.transport.stopping import WeakRegistry


class Inherited:
    """A client or transport of the caller's own, whose connections a forked child must not use beside its parent."""

    def __init__(self, given: object) -> None:
        self._given = given
        self._pid = os.getpid()
        self._connections: list[Any] = []  # referenced, so that garbage collection does not close them

    def forget_parents(self) -> None:
        if self._given is not None and self._pid != (pid := os.getpid()):
            self._connections += deadlines.forget(self._given)
            self._pid = pid


streamed: Final[WeakRegistry[Response]] = WeakRegistry()
"""The streamed responses of the process."""
_of_parents: list[Any] = []
"""In a forked child: referenced, so that garbage collection does not close them."""
atexit.register(_of_parents.clear)  # while the library can still be called
_DEPTH: Final = 8


def _leave_to_parent() -> None:
    """In a forked child: whoever holds a response of the parent can close it, which does nothing, or read on, which
    opens a connection of the child's own."""
    for response in streamed:
        _of_parents.append((response.raw, response.chunks))
        _mark_closed(response.raw)
        response.cut_off("its connection is the parent process's")


def _mark_closed(stream: Any) -> None:
    """Let the library's streams, each of which holds the next, take themselves for closed.

    Else they would close when the process ends: shut the parent's connection down, and wait for its locks.
    """
    for _ in range(_DEPTH):
        if hasattr(stream, "_closed"):
            stream._closed = True
        held = (getattr(stream, name, None) for name in ("stream", "_stream", "_httpcore_stream"))
        if (stream := next(filter(None, held), None)) is None:
            break


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
