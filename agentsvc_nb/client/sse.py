"""Decode server-sent events (HTML standard 9.2.6) incrementally. A chunk of the stream may end within an event."""

from __future__ import annotations

from typing import Final, NamedTuple

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.wire.limits import EVENT_MAX_BYTES

_BOM: Final = b"\xef\xbb\xbf"


class ServerSentEvent(NamedTuple):
    """A complete server-sent event. `id` is the last id that the stream sent, with this event or an earlier event."""

    event: str
    data: bytes
    id: str


class EventDecoder:
    """Decode the chunks of a stream as they arrive. `feed` returns the events that a chunk completes.

    The decoder never returns an event that is incomplete when the stream ends. `retry_seconds` is the value of the last
    field `retry` in seconds, or None.

    >>> decoder = EventDecoder()
    >>> decoder.feed(b"id: 7\\ndata: he"), decoder.feed(b"llo\\n\\n")
    ([], [ServerSentEvent(event='message', data=b'hello', id='7')])

    `feed` raises `StefanBrainError` for an event of more than 16 MiB, because it could fill the memory.
    """

    def __init__(self, max_bytes: int = EVENT_MAX_BYTES) -> None:
        self.retry_seconds: float | None = None
        self._max = max_bytes
        self._pieces: list[bytes] = []  # pieces of an unfinished line, which `feed` joins when the line ends
        self._pieces_size = self._data_size = 0
        self._data: list[bytes] = []
        self._event = self._id = ""
        self._after_cr = False
        self._first = True

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        if self._after_cr and chunk:
            self._after_cr, chunk = False, chunk.removeprefix(b"\n")
        events: list[ServerSentEvent] = []
        if b"\n" in chunk or b"\r" in chunk:
            lines = b"".join((*self._pieces, chunk)).splitlines()  # splits bytes at \n, \r and \r\n only
            self._after_cr = chunk.endswith(b"\r")
            self._pieces = [] if chunk.endswith((b"\n", b"\r")) else [lines.pop()]
            self._pieces_size = sum(map(len, self._pieces))
            if self._first:
                self._first, lines[0] = False, lines[0].removeprefix(_BOM)
            self._read(lines, events)
        elif chunk:
            self._pieces.append(chunk)
            self._pieces_size += len(chunk)
        if self._pieces_size + self._data_size > self._max:
            raise _too_large(self._max)
        return events

    def _read(self, lines: list[bytes], events: list[ServerSentEvent]) -> None:
        """Parse lines, and append complete events to `events`.

        Most of the time for decoding events is spent here, so the code is one function that calls no others per line.
        """
        for line in lines:
            if not line:
                if self._data:
                    events.append(ServerSentEvent(self._event or "message", b"\n".join(self._data), self._id))
                    self._data, self._data_size = [], 0
                self._event = ""
                continue
            name, _, value = line.partition(b":")
            if value[:1] == b" ":
                value = value[1:]
            if name == b"data":
                self._data.append(value)
                self._data_size += len(value) + 1
                if self._data_size > self._max:
                    raise _too_large(self._max)
            elif name == b"event":
                self._event = value.decode("utf-8", "replace")
            elif name == b"id" and b"\0" not in value:
                self._id = value.decode("utf-8", "replace")
            elif name == b"retry" and value.isdigit() and len(value) < 10:
                self.retry_seconds = int(value) / 1000


def _too_large(most: int) -> StefanBrainError:
    return StefanBrainError(f"The stream sent an event of more than {most} bytes. The client did not read it.")
