"""An incremental decoder of server-sent events (HTML standard 9.2.6); chunks may be cut anywhere."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.wire.limits import EVENT_MAX_BYTES

_CR: Final = 13
_LF: Final = 10
"""As numbers, which are found in bytes several times as fast as bytes are."""
_EOL: Final = re.compile(rb"\r\n|\n|\r")
_USUAL: Final = re.compile(rb"id: ([^\n\0]*+)\nevent: ([^\n]++)\ndata: ([^\n]*+)\n\n")
"""An event as our service writes it. Matching it whole costs half as much as reading it line by line."""
_BEGUN_BYTES: Final = 4096
"""The beginning of an event is kept whole up to this length, and then by its lines: more would be copied too often."""
_BOM: Final = b"\xef\xbb\xbf"


class ServerSentEvent(NamedTuple):
    """One dispatched event. `id` is the last id that was sent, with this event or an earlier one."""

    event: str
    data: bytes
    id: str


class EventDecoder:
    """Decodes chunks as they arrive: `feed` returns the events that a chunk completes. An event that is cut off by the
    end of the stream is never returned. `retry_seconds` is the last `retry` field, None if there was none.

    >>> decoder = EventDecoder()
    >>> decoder.feed(b"id: 7\\ndata: he"), decoder.feed(b"llo\\n\\n")
    ([], [ServerSentEvent(event='message', data=b'hello', id='7')])

    Raises `StefanBrainError` for an event of more than 16 MiB, which would otherwise fill the memory.
    """

    def __init__(self, max_bytes: int = EVENT_MAX_BYTES) -> None:
        self.retry_seconds: float | None = None
        self._max = max_bytes
        self._tail: list[bytes] = []
        self._tail_size = self._data_size = 0
        self._after_cr = False
        self._first = True
        self._by_line = True  # whether an event that has begun, or the first, is read line by line
        self._begun = b""
        self._event, self._id = "", ""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if not chunk:
            return []
        text = self._begun + chunk if self._begun else chunk
        if _CR in chunk or len(text) > self._max:
            self._after_cr = chunk.endswith(b"\r")
            self._begun = b""
            return self._read(text)
        if self._by_line:
            end = chunk.find(b"\n\n") + 2
            return self._read(chunk) if end == 1 else self._read(chunk[:end]) + self.feed(chunk[end:])
        frames: list[ServerSentEvent] = []
        end, size = 0, len(text) if _LF in chunk else 0
        while end < size and (usual := _USUAL.match(text, end)):
            identity, event, data = usual.groups()
            self._id = identity.decode("utf-8", "replace")
            frames.append(ServerSentEvent(event.decode("utf-8", "replace"), data, self._id))
            end = usual.end()
        if end:
            text = text[end:]
        if end < size and b"\n\n" in text:
            self._begun = b""
            return frames + self._read(text)
        if len(text) > _BEGUN_BYTES or b"retry" in text:  # which counts without the end of an event, too
            self._begun = b""
            self._read(text)
        else:
            self._begun = text
        return frames

    def _read(self, chunk: bytes) -> list[ServerSentEvent]:
        *lines, tail = _EOL.split(chunk) if b"\r" in chunk else chunk.split(b"\n")
        if lines:
            lines[0] = b"".join((*self._tail, lines[0]))
            self._tail.clear()
            self._tail_size = 0
            if self._first:
                self._first, lines[0] = False, lines[0].removeprefix(_BOM)
        frames = [frame for line in lines if (frame := self._line(line))]
        self._keep(tail)
        self._by_line = bool(self._first or self._tail_size or self._data or self._event)
        return frames

    def _keep(self, tail: bytes) -> None:
        """Store a piece of an unfinished line. Pieces are joined when the line ends, else a long line would be copied
        with every chunk."""
        self._tail.append(tail)
        self._tail_size += len(tail)
        self._check()

    def _check(self) -> None:
        if self._data_size + self._tail_size > self._max:
            raise StefanBrainError(f"The stream sent an event of more than {self._max} bytes; it was not read.")

    def _line(self, line: bytes) -> ServerSentEvent | None:
        """Interpret one line; an empty one ends an event, which is returned.

        A single function without helpers, because most of the time per event is spent here.
        """
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]
        if name == b"data":
            self._data.append(value)
            self._data_size += len(value) + 1
            if self._data_size > self._max:
                self._check()
        elif name == b"event":
            self._event = value.decode("utf-8", "replace")
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) < 10:
            self.retry_seconds = int(value) / 1000
        return None

    def _dispatch(self) -> ServerSentEvent | None:
        data, event = self._data, self._event
        self._event = ""
        if not data:
            return None
        self._data, self._data_size = [], 0
        return ServerSentEvent(event or "message", data[0] if len(data) == 1 else b"\n".join(data), self._id)
