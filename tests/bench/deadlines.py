"""How late a call ends that its service would keep past its deadline: by what the service does, and by face.

python -m tests.bench.deadlines [--quick]
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from agentsvc_nb import AgentService, AsyncAgentService, JobTimeoutError, StefanBrainError
from tests.unit.client.conftest import KEY, RUN_ID, run
from tests.unit.client.cutting import events, frames

Call = Callable[[Any, float], Any]
"""With a client and a deadline in seconds: a result, or what to await for it."""
DRIP_SECONDS: Final = 0.03
UPLOAD_BYTES: Final = 30_000_000
EVENT: Final = frames(events(3)[:1])
OK: Final = b"HTTP/1.1 200 OK\r\n"
LONG: Final = b"Content-Length: 999999\r\n\r\n"
STREAM: Final = OK + b"Content-Type: text/event-stream\r\n\r\n"
GZIP: Final = OK + b"Content-Encoding: gzip\r\n" + LONG + b"\x1f\x8b\x08\0\0\0\0\0\0\3"

PROGRESS: Final = b'id: NUMBER\ndata: {"id": NUMBER, "type": "progress", "payload": {}}\n\n'

# What the service sends first, and then again and again, every 30 ms.
DOES: Final[dict[str, tuple[bytes, bytes]]] = {
    "says nothing": (b"", b""),
    "sends headers without an end": (OK, b"X-A: b\r\n"),
    "sends one header without an end": (OK + b"X: ", b"b"),
    "continues without an end": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "sends a body a byte at a time": (OK + LONG, b" "),
    "sends chunks of a byte": (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "sends gzip that is nothing": (GZIP, b"\0\0\0\xff\xff"),
    "refuses a byte at a time": (b"HTTP/1.1 400 Bad\r\n" + LONG, b" "),
    "streams an event, then nothing": (STREAM + EVENT, b""),
    "streams an event, then pings": (STREAM + EVENT, b": ping\n\n"),
    "streams half an event": (STREAM + b"id: 1\ndata: ", b"x"),
    "streams headers without an end": (OK, b"X-A: b\r\n"),
    "streams events without an end": (STREAM, PROGRESS),
}


def get(client: Any, seconds: float) -> Any:
    return client.runs.get(RUN_ID, deadline=seconds)


def download(client: Any, seconds: float) -> Any:
    return client.files.download("a", chat="c", deadline=seconds)


def upload(client: Any, seconds: float) -> Any:
    return client.files.upload(("a", bytes(UPLOAD_BYTES)), deadline=seconds)


def wait(client: Any, seconds: float) -> Any:
    return client.runs.wait(RUN_ID, timeout=seconds)


async def follow(client: Any, seconds: float) -> None:
    stream = await _awaited(client.runs.attach(RUN_ID, deadline=seconds))
    await _awaited(stream.final_status())


CALLS: Final[dict[str, tuple[Call, ...]]] = {
    "shakes no hands (TLS)": (get,),
    "takes no more of an upload": (upload,),
    "says nothing": (get, wait),
    "sends a body a byte at a time": (get, download),
    "sends chunks of a byte": (get, download),
    **{name: (follow,) for name in DOES if name.startswith("streams ")},
    "streams an event, then pings": (follow, wait),
    "streams an event, then nothing": (follow, wait),
}
CASES: Final = [(name, call) for name in dict.fromkeys((*CALLS, *DOES)) for call in CALLS.get(name, (get,))]
QUICK: Final = ("shakes", "takes", "says", "sends chunks", "streams an event, then pings")
FACES: Final = ("blocking", "in a loop", "asyncio")


def main(quick: bool) -> None:
    seconds, rounds = (0.2, 1) if quick else (0.5, 3)
    _late("says nothing", get, "asyncio", 0.01)  # imports
    print(f"{f'ms past a deadline of {seconds} s, at worst':52}" + "".join(f"{face:>12}" for face in FACES))
    for name, call in CASES:
        if quick and not name.startswith(QUICK):
            continue
        late = [max(_late(name, call, face, seconds) for _ in range(rounds)) for face in FACES]
        print(f"{f'{call.__name__}: it {name}':52}" + "".join(f"{1000 * each:12.1f}" for each in late))


def _late(name: str, call: Call, face: str, seconds: float) -> float:
    """Seconds from the deadline to the error, which must be that of a deadline."""
    with _serving(name) as address:
        client = (AsyncAgentService if face == "asyncio" else AgentService)(KEY, address)

        async def called() -> float:
            begin = time.monotonic()
            outcome = await _outcome(call, client, seconds)
            took = time.monotonic() - begin
            await _awaited(client.close())
            assert isinstance(outcome, JobTimeoutError) or getattr(outcome, "late", False), f"{name}: {outcome!r}"
            return took - seconds

        if face != "blocking":
            return asyncio.run(called())
        try:  # without an event loop in this thread
            called().send(None)
        except StopIteration as ended:
            return float(ended.value)
        raise AssertionError("a blocking call awaited something")


async def _outcome(call: Call, client: Any, seconds: float) -> Any:
    try:
        return await _awaited(call(client, seconds))
    except StefanBrainError as error:
        return error


async def _awaited(given: Any) -> Any:
    return await given if inspect.isawaitable(given) else given


@contextmanager
def _serving(name: str) -> Iterator[str]:
    """The address of a service that does this to every request, but for that for a run whose events are asked for."""
    ended = threading.Event()

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=_serve, args=(listener.accept()[0], name, ended), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        try:
            yield f"http{'s' if 'TLS' in name else ''}://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            ended.set()
            listener.shutdown(socket.SHUT_RDWR)


def _serve(connection: socket.socket, name: str, ended: threading.Event) -> None:
    with connection, suppress(OSError):
        if name not in DOES:
            ended.wait()
            return
        head = b""
        while b"\r\n\r\n" not in head:
            if not (more := connection.recv(65_536)):
                return
            head += more
        if name.startswith("streams ") and b"/events" not in head.split(b"\r\n")[0]:
            body = json.dumps(run("running")).encode()
            connection.sendall(OK + b"Connection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            return
        first, again = DOES[name]
        connection.sendall(first)
        for number in itertools.count(1):
            if ended.wait(DRIP_SECONDS):
                return
            connection.sendall(again.replace(b"NUMBER", b"%d" % number))


if __name__ == "__main__":
    main("--quick" in sys.argv)
