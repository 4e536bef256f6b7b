"""Ctrl-C and cancellation at any moment: the client goes on to work, loses nothing, and leaves nothing open. In a
process of its own, whose main thread the signals come to."""

from __future__ import annotations

import hashlib
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.client.cutting import CuttingServer

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")

CONTENT = bytes(range(256)) * 1_024
SHA256 = hashlib.sha256(CONTENT).hexdigest()
HEAD = """
import asyncio, faulthandler, itertools, os, pathlib, random, signal, sys, threading, time
from agentsvc_nb import AgentService, AsyncAgentService
faulthandler.dump_traceback_later(90, exit=True)  # a client that hangs
RUN_ID, FD = "6f8d3f0e-3f60-4a57-9d0b-0d6e5a3a8c11", "/proc/self/fd"
client = AgentService("svc_sk_x", sys.argv[1])
dice, hits = random.Random(20), 0
def descriptors():
    return len(os.listdir(FD)) if os.path.isdir(FD) else 0
"""
WITHIN_LOCKS = """
client.runs.get(RUN_ID)
import httpcore
LOCKS = httpcore._synchronization.__file__
def interrupted_at(place):
    left = place
    def trace(frame, event, _):
        nonlocal left
        if frame.f_code.co_filename != LOCKS:
            return None
        left -= event in ("call", "line")
        if left == 0:
            raise KeyboardInterrupt
        return trace
    sys.settrace(trace)
    try:
        client.runs.get(RUN_ID)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return False
for place in itertools.count(1):
    interrupted = interrupted_at(place)
    answers = []
    asked = threading.Thread(target=lambda: answers.append(client.runs.get(RUN_ID)), daemon=True)
    asked.start()
    asked.join(20)
    if asked.is_alive():
        print("hangs after an interrupt at line", place, flush=True)
        os._exit(1)
    assert answers, place
    if not interrupted:
        break
"""
INTERRUPTED = """
signal.signal(signal.SIGALRM, signal.default_int_handler)
def interrupted(call, seconds):
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, dice.uniform(1e-5, seconds))
            call()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        return True
    return False
def all_closed(before):
    client.close()
    ends = time.monotonic() + 10
    while threading.active_count() > 1 and time.monotonic() < ends:
        time.sleep(0.01)
    assert threading.active_count() == 1, threading.enumerate()
    assert descriptors() <= before + 2
"""
ANYWHERE = """
def stream():
    with client.runs.attach(RUN_ID) as events:
        list(events)
calls = [lambda: client.runs.get(RUN_ID), stream, lambda: list(client.runs.iterate_events(RUN_ID))]
for call in calls:
    call()
before = descriptors()
while hits < 1_000:
    hits += interrupted(dice.choice(calls), 0.004)
    if hits % 10 == 0:
        assert client.runs.get(RUN_ID).run_id == RUN_ID
all_closed(before)
"""
READ_ON = """
def read_on():
    global last
    for event in stream:
        assert event.id == last + 1
        last = event.id
before = descriptors()
while hits < 300:
    stream, last = client.runs.attach(RUN_ID), 0
    while interrupted(read_on, 0.004):
        hits += 1
        assert stream.cursor - last in (0, 1)  # 1: handed over as the interrupt came
        last = stream.cursor
    assert last == 5, last
del stream
all_closed(before)
"""
CANCELLED = """
async def main():
    global hits
    async with AsyncAgentService("svc_sk_x", sys.argv[1]) as client:
        async def stream():
            async with client.runs.attach(RUN_ID) as events:
                assert [event.id async for event in events] == [1, 2, 3, 4, 5]
        async def read_on(events, got):
            async for event in events:
                assert event.id == got[-1] + 1
                got.append(event.id)
        async def cancelled(work):
            task = asyncio.create_task(work)
            await asyncio.sleep(dice.uniform(0, 0.008))
            task.cancel()
            [outcome] = await asyncio.gather(task, return_exceptions=True)
            assert outcome is None or isinstance(outcome, asyncio.CancelledError) or outcome.run_id == RUN_ID, outcome
            return isinstance(outcome, asyncio.CancelledError)
        before = descriptors()
        while hits < 1_000:
            hits += await cancelled(dice.choice([stream(), client.runs.get(RUN_ID)]))
            events, got = await client.runs.attach(RUN_ID), [0]
            while await cancelled(read_on(events, got)):
                hits += 1
                assert events.cursor - got[-1] in (0, 1)
                got.append(events.cursor)
            assert got[-1] == 5
        del events
    await asyncio.sleep(0.1)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert descriptors() <= before + 2
asyncio.run(main(), debug=False)
"""
TRANSFERS = """
import hashlib
data, folder = bytes(range(256)) * 1_024, pathlib.Path(sys.argv[2])
sha256 = hashlib.sha256(data).hexdigest()
def download():
    assert client.files.download("a.bin", chat="chat_1") == data
def to_disk():
    place = client.files.download("a.bin", chat="chat_1", to=folder / "a.bin")
    assert place.read_bytes() == data
    place.unlink()
def upload(content=data):
    [staged] = client.files.upload(("a.bin", content))
    assert staged.id == sha256
(folder / "up.bin").write_bytes(data)
calls = {"downloads": [download, to_disk], "uploads": [upload, lambda: upload(folder / "up.bin")]}[sys.argv[3]]
for call in calls:
    call()
before = descriptors()
while hits < 300:
    hits += interrupted(dice.choice(calls), 0.02)
    if hits % 10 == 0:
        for call in calls:
            call()
all_closed(before)
"""
ONCE_EACH = {
    "within_locks": WITHIN_LOCKS,
    "a_thousand": INTERRUPTED + ANYWHERE,
    "read_on": INTERRUPTED + READ_ON,
    "a_thousand_cancellations": CANCELLED,
}


@pytest.mark.parametrize("script", ONCE_EACH.values(), ids=ONCE_EACH)
def test_an_interrupt_leaves_the_client_usable(script: str) -> None:
    with CuttingServer(5) as server:
        _run(script, server.base_url)
        server.wait_for_open(0)


@pytest.mark.parametrize("transfers", ["downloads", "uploads"])
def test_files_are_whole_after_any_interrupt(transfers: str, tmp_path: Path) -> None:
    with file_server() as base_url:
        _run(INTERRUPTED + TRANSFERS, base_url, str(tmp_path), transfers)
    assert {path.name for path in tmp_path.iterdir() if path.suffix != ".part"} <= {"a.bin", "up.bin"}


def _run(script: str, *arguments: str) -> None:
    command = [sys.executable, "-W", "ignore::RuntimeWarning", "-c", HEAD + script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr[-2_000:]  # an interrupt in a finalizer is only printed


class _Files(BaseHTTPRequestHandler):
    """A file, whole or from a byte on; and uploads, which are answered with the SHA-256 of what came."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        first = int((re.search(r"bytes=(\d+)-", self.headers.get("range", "")) or ["", "0"])[1])
        self.send_response(206 if first else 200)
        self.send_header("etag", f'"{SHA256}"')
        if first:
            self.send_header("content-range", f"bytes {first}-{len(CONTENT) - 1}/{len(CONTENT)}")
        self._end(CONTENT[first:])

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        mark = body.split(b"\r\n", 1)[0]
        sent = body.split(b"\r\n\r\n", 1)[1].removesuffix(b"\r\n" + mark + b"--\r\n")
        self.send_response(200)
        staged = {"id": hashlib.sha256(sent).hexdigest(), "name": "a.bin", "size_bytes": len(sent)}
        self._end(json.dumps({"files": [staged]}).encode())

    def _end(self, content: bytes) -> None:
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


class _FileServer(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        pass  # the client hung up: that is what the tests are about


@contextmanager
def file_server() -> Iterator[str]:
    server = _FileServer(("127.0.0.1", 0), _Files)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
