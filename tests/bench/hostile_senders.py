"""What the hostile callers of `tests.bench.hostile` send: each kind in a thread, at a rate that does not depend on how
fast it is answered."""

from __future__ import annotations

import contextlib
import io
import json
import socket
import struct
import threading
import time
import zipfile
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple
from urllib.parse import quote

from tests.bench.load import address, request

API: Final = "/api/developers/v1"
PATIENCE: Final = 10.0
HELD_SECONDS: Final = 5.0
WORD_XML: Final = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


class Target(NamedTuple):
    """Where to send, with whose key; a chat with large texts and a run with many events of that key's account."""

    base_url: str
    api_key: str
    chat: str
    run_id: str


def send_all(target: Target, seconds: float) -> None:
    """Send all kinds for `seconds`."""
    end = time.monotonic() + seconds
    threads = [
        threading.Thread(target=_repeat, args=(partial(send, target), every, end), name=send.__name__)
        for send, every, times in KINDS
        for _ in range(times)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _repeat(send: Callable[[], None], every: float, end: float) -> None:
    due = time.monotonic()
    while due < end:
        with contextlib.suppress(OSError):  # refused, reset, or too slow: the honest caller's answers are what counts
            send()
        due = max(due + every, time.monotonic() - every)
        time.sleep(max(0, due - time.monotonic()))


def _send(target: Target, *messages: bytes) -> None:
    """Send the messages on one connection and wait for the first answer."""
    with socket.create_connection(address(target.base_url), PATIENCE) as connection:
        for message in messages:
            connection.sendall(message)
        connection.recv(65536)


def _hold(target: Target, message: bytes, connections: int) -> None:
    """Send `message` on each of some connections and read nothing for some seconds."""
    with contextlib.ExitStack() as stack:
        for _ in range(connections):
            connection = stack.enter_context(socket.create_connection(address(target.base_url), PATIENCE))
            connection.settimeout(0.2)
            connection.sendall(message)
        time.sleep(HELD_SECONDS)


def _start(target: Target, api_key: str | None = None, **fields: object) -> bytes:
    return request("POST", f"{API}/runs", api_key or target.api_key, json.dumps(fields).encode())


def tiny_headers(target: Target) -> None:
    _send(target, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"a:b\r\n" * 50_000 + b"\r\n")


def dripping_heads(target: Target) -> None:
    _hold(target, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nx-slow: ", 20)


def wrong_keys(target: Target) -> None:
    _send(target, request("GET", f"{API}/runs/{target.run_id}", "sk_wrong"))


def resets(target: Target) -> None:
    with socket.create_connection(address(target.base_url), PATIENCE) as connection:
        connection.sendall(_start(target, message="say x")[:-4])
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def bodies_without_a_key(target: Target) -> None:
    _send(target, _start(target, "sk_wrong", message="x" * 4_000_000))


def deep_bodies(target: Target) -> None:
    _send(target, request("POST", f"{API}/runs", target.api_key, b'{"message": ' + b"[" * 2_000_000))


def bodies_of_many_values(target: Target) -> None:
    body = b'{"message": "say x", "context": [' + b'{"a":1},' * 500_000 + b"1]}"
    _send(target, request("POST", f"{API}/runs", target.api_key, body))


def long_messages(target: Target) -> None:
    _send(target, _start(target, message="say " + "é" * 500_000))


def dear_searches(target: Target) -> None:
    q = '"' + "the sale of summer " * 10 + '" or ' + " or ".join(f"w{n}" for n in range(20))
    _send(target, request("GET", f"{API}/files/search?chat_id={target.chat}&q={quote(q)}", target.api_key))


def dear_schemas(target: Target) -> None:
    pattern = "(a?){3000}" + "".join(f"[\\W\\w]{{{n}}}" for n in range(1, 60))
    schema = {"type": "object", "properties": {"x": {"type": "string", "pattern": pattern}}}
    _send(target, _start(target, message='answer {"x": "y"}', output_config=schema))


def documents_of_nothing(target: Target) -> None:
    body = (
        b'--edge\r\nContent-Disposition: form-data; name="files"; filename="n.docx"\r\n\r\n'
        + EMPTY_PARAGRAPHS
        + b"\r\n--edge--\r\n"
    )
    head = request("POST", f"{API}/files?chat_id={target.chat}", target.api_key, body)
    _send(target, head.replace(b"application/json\r\nContent-L", b"multipart/form-data; boundary=edge\r\nContent-L"))


def streams_unread(target: Target) -> None:
    follow = request("GET", f"{API}/runs/{target.run_id}/events", target.api_key, accept="text/event-stream")
    _hold(target, follow, 20)


def pages_unread(target: Target) -> None:
    _hold(target, request("GET", f"{API}/runs/{target.run_id}/events?limit=1000", target.api_key) * 5, 10)


def held_starts(target: Target) -> None:
    _send(target, _start(target, message="wait 1\nsay done", sync=True))


def catalogs(target: Target) -> None:
    _send(target, request("GET", f"{API}/tools", target.api_key))


def _empty_paragraphs() -> bytes:
    """A Word file of 20 kB with four million empty paragraphs."""
    kinds = "http://schemas.openxmlformats.org/package/2006/content-types"
    main = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{kinds}"><Override PartName="/word/document.xml" ContentType="{main}"/>'
        "</Types>",
        "word/document.xml": f"<w:document {WORD_XML}><w:body>{'<w:p/>' * 4_000_000}</w:body></w:document>",
    }
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return written.getvalue()


EMPTY_PARAGRAPHS: Final = _empty_paragraphs()
KINDS: Final[list[tuple[Callable[[Target], None], float, int]]] = [
    (tiny_headers, 0.5, 1),
    (dripping_heads, 1, 2),
    (wrong_keys, 0.05, 1),
    (resets, 0.05, 1),
    (bodies_without_a_key, 1, 1),
    (deep_bodies, 1, 1),
    (bodies_of_many_values, 2, 1),
    (long_messages, 2, 1),
    (dear_searches, 0.5, 2),
    (dear_schemas, 1, 1),
    (documents_of_nothing, 3, 1),
    (streams_unread, 1, 3),
    (pages_unread, 1, 2),
    (held_starts, 0.5, 2),
    (catalogs, 0.1, 1),
]
"""What is sent, seconds between two of them, and the threads that send it."""
