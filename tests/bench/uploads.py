"""Large uploads at once: how fast, in how much memory, and how long another request waits meanwhile.

python -m tests.bench.uploads [--quick]
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import multiprocessing
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, wait
from typing import Final

from agentsvc_nb.testing import running_service
from tests.bench.load import address
from tests.bench.process import cpu_seconds, peak_mb

PIECE_BYTES: Final = 1_000_000
BOUNDARY: Final = "4f1c9d0e7a6b5c3d2e1f0a9b8c7d6e5f"
"""As long as clients make them: it is searched for in every byte."""
HEAD: Final = b'--%b\r\nContent-Disposition: form-data; name="files"; filename="%d.bin"\r\n\r\n'
TAIL: Final = b"\r\n--%b--\r\n" % BOUNDARY.encode()
PROBE_SECONDS: Final = 0.05
"""Asked without a pause, the small requests would be half the load."""


def main(quick: bool) -> None:
    uploads, size = (4, 10_000_000) if quick else (10, 100_000_000)
    with running_service() as service:
        before, used = peak_mb(service.pid), cpu_seconds(service.pid)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            sending = pool.submit(_upload_all, service.base_url, service.api_key, uploads, size)
            waits = [_health(service.base_url)]
            while wait([sending], PROBE_SECONDS).not_done:
                waits.append(_health(service.base_url))
            seconds = sending.result()
        peak, cpu = peak_mb(service.pid), cpu_seconds(service.pid) - used
    peer = _hash_and_copy(size)
    print(
        f"{'uploads at once':24} {'MB/s':>8} {'peak MB':>8} {'idle MB':>8} {'CPU ms/MB':>10} {'/healthz worst ms':>18}"
        f" {'SHA-256 and a copy, MB/s':>25} {'ratio':>6}"
    )
    total, worst = uploads * size / 1e6, max(waits) * 1000
    what, cpu_ms, rate = f"{uploads} x {size / 1e6:.0f} MB", cpu / total * 1000, total / seconds
    print(
        f"{what:24} {rate:8.0f} {peak:8.0f} {before:8.0f} {cpu_ms:10.2f} {worst:18.0f} {peer:25.0f} {rate / peer:6.2f}"
    )


def _hash_and_copy(size: int) -> float:
    """MB a second of what no upload can do without: to hash the bytes and to copy them, on one core."""
    pieces = _pieces(0, size)
    digest, begin = hashlib.sha256(), time.perf_counter()
    for piece in pieces:
        digest.update(bytearray(piece))
    return size / 1e6 / (time.perf_counter() - begin)


def _upload_all(base_url: str, api_key: str, uploads: int, size: int) -> float:
    """Seconds for all of them, a thread each. The service must have counted and hashed what was sent."""
    with ThreadPoolExecutor(uploads) as pool:
        begin = time.perf_counter()
        found = list(pool.map(lambda number: _upload(base_url, api_key, number, size), range(uploads)))
        took = time.perf_counter() - begin
    assert found == [(size, _sha256(number, size)) for number in range(uploads)], found
    return took


def _upload(base_url: str, api_key: str, number: int, size: int) -> tuple[int, str]:
    """The size and the hash that the service answers."""
    body = [HEAD % (BOUNDARY.encode(), number), *_pieces(number, size), TAIL]
    headers = {
        "Authorization": f"Bearer {api_key}",
        "Content-Type": f"multipart/form-data; boundary={BOUNDARY}",
        "Content-Length": str(sum(map(len, body))),
    }
    answer = _ask(base_url, "POST", "/api/developers/v1/files", iter(body), headers)
    staged = json.loads(answer)["files"][0]
    return staged["size_bytes"], staged["sha256"]


def _pieces(number: int, size: int) -> list[bytes]:
    """`size` bytes that differ from upload to upload; one piece of memory, many times."""
    piece = number.to_bytes(4, "big") * (PIECE_BYTES // 4)
    return [piece] * (size // PIECE_BYTES)


def _sha256(number: int, size: int) -> str:
    digest = hashlib.sha256()
    for piece in _pieces(number, size):
        digest.update(piece)
    return digest.hexdigest()


def _health(base_url: str) -> float:
    """Seconds that a small request takes."""
    begin = time.perf_counter()
    _ask(base_url, "GET", "/healthz", None, {})
    return time.perf_counter() - begin


def _ask(base_url: str, method: str, path: str, body: Iterator[bytes] | None, headers: dict[str, str]) -> bytes:
    connection = http.client.HTTPConnection(*address(base_url))
    with contextlib.closing(connection):
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
    assert answer.status == 200, (answer.status, content)
    return content


if __name__ == "__main__":
    main("--quick" in sys.argv)
