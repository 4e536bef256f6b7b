"""A large file up and down through a service whose contents lie in S3, beside the S3 server alone.

python -m tests.bench.s3 [--quick]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import obstore
from obstore.store import S3Store

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.routes.route import V1
from tests.bench.process import peak_mb, resident_mb
from tests.s3_server import running_s3

MB: Final = 1_000_000
PIECE_BYTES: Final = 256 * 1024
GROWTH_MB: Final = 100.0
"""What the service's memory may grow by, however large the file is."""


def main(quick: bool) -> None:
    megabytes, rounds = (20, 1) if quick else (100, 5)
    with running_s3() as server, tempfile.TemporaryDirectory() as scratch:
        os.environ.update(server.env)
        with running_service(blobs=server.address(), max_file_bytes=5 * megabytes * MB) as service:
            bench = _Bench(service, server.store(), Path(scratch))
            found = [bench.round(megabytes) for _ in range(rounds)]
            up, up_alone, down, down_alone = (
                megabytes / statistics.median(column) for column in zip(*found, strict=True)
            )
            print(f"{f'{megabytes} MB':10} {'MB/s':>7} {'S3 alone':>9} {'ratio':>6}")
            print(f"{'up':10} {up:7.0f} {up_alone:9.0f} {up / up_alone:6.2f}")
            print(f"{'down':10} {down:7.0f} {down_alone:9.0f} {down / down_alone:6.2f}")
            before = resident_mb(service.pid)
            bench.up(5 * megabytes)
            bench.down()
            grown = peak_mb(service.pid) - before
            print(f"{5 * megabytes} MB up and down: {grown:.0f} MB more in the service at the most")
            assert grown < GROWTH_MB, grown


class _Bench:
    def __init__(self, service: RunningService, alone: S3Store, scratch: Path) -> None:
        self._service, self._alone, self._scratch = service, alone, scratch
        self._block = os.urandom(MB)
        with AgentService(service.api_key, service.base_url) as client:
            self._chat = client.runs.start("say hello", sync=True).chat

    def round(self, megabytes: int) -> tuple[float, float, float, float]:
        """Seconds up and down, each through the service and to the server alone, by turns."""
        up = self.up(megabytes)
        begin = time.perf_counter()
        obstore.put(self._alone, "alone", self._scratch / "up.bin")
        up_alone = time.perf_counter() - begin
        down = self.down()
        begin = time.perf_counter()
        with (self._scratch / "alone.bin").open("wb") as file:
            for piece in obstore.get(self._alone, "alone").stream(min_chunk_size=PIECE_BYTES):
                file.write(piece)
        return up, up_alone, down, time.perf_counter() - begin

    def up(self, megabytes: int) -> float:
        source = self._scratch / "up.bin"
        with source.open("wb") as file:
            file.write(os.urandom(MB))  # a new content: one that is there is not sent again
            for _ in range(megabytes - 1):
                file.write(self._block)
        return self._curl("-F", f"files=@{source}", self._url("?"))

    def down(self) -> float:
        target = self._scratch / "down.bin"
        took = self._curl("-o", str(target), self._url("/download?path=uploads/up.bin&"))
        assert target.stat().st_size == (self._scratch / "up.bin").stat().st_size
        return took

    def _url(self, route: str) -> str:
        return f"{self._service.base_url}{V1}/files{route}chat_id={self._chat}"

    def _curl(self, *arguments: str) -> float:
        """Seconds, the start of curl's process included."""
        head = ["curl", "-sSf", "-H", f"Authorization: Bearer {self._service.api_key}"]
        begin = time.perf_counter()
        subprocess.run([*head, *arguments], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - begin


if __name__ == "__main__":
    main("--quick" in sys.argv)
