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
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Final

from agentsvc_nb.testing import running_service
from tests.bench.load import address
from tests.bench.process import peak_mb

PIECE_BYTES: Final = 1_000_000
HEAD: Final = b'--cut\r\nContent-Disposition: form-data; name="files"; filename="%d.bin"\r\n\r\n'
TAIL: Final = b"\r\n--cut--\r\n"


def main(quick: bool) -> None:
    uploads, size = (4, 10_000_000) if quick else (10, 100_000_000)
    with running_service() as service:
        before = peak_mb(service.pid)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            sending = pool.submit(_upload_all, service.base_url, service.api_key, uploads, size)
            waits = []
            while not sending.done():
                waits.append(_health(service.base_url))
            seconds = sending.result()
        peak = peak_mb(service.pid)
    print(f"{'uploads at once':24} {'MB/s':>8} {'peak MB':>8} {'idle MB':>8} {'/healthz worst ms':>18}")
    rate = uploads * size / 1e6 / seconds
    print(f"{f'{uploads} x {size / 1e6:.0f} MB':24} {rate:8.0f} {peak:8.0f} {before:8.0f} {max(waits) * 1000:18.0f}")


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
    body = [HEAD % number, *_pieces(number, size), TAIL]
    headers = {
        "Authorization": f"Bearer {api_key}",
        "Content-Type": "multipart/form-data; boundary=cut",
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
