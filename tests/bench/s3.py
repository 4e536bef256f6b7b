"""A large file up and down through a service whose contents lie in S3, beside the S3 server alone.

The service is asked by curl. So the server alone is, too, by addresses that were signed before: what is between the two
is the service. Beside it stands obstore within this process, which is what the service itself asks with: it starts no
process, and sends parts of a file at once, which curl does not.

python -m tests.bench.s3 [--quick]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import Final, Literal

import obstore
from obstore.store import S3Store

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.routes import V1
from tests.bench.process import peak_mb, resident_mb
from tests.support.contents import forget
from tests.support.s3_server import running_s3

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
            alone = f"{'S3 alone, curl':>15} {'ratio':>6} {'S3 alone, obstore':>18} {'ratio':>6}"
            print(f"{f'{megabytes} MB':24} {'MB/s':>6} {alone}")
            for what in found[0]:
                rates = [[megabytes / seconds for seconds in one[what]] for one in found]
                ours, curl, library = (statistics.median(column) for column in zip(*rates, strict=True))
                print(f"{what:24} {ours:6.0f} {curl:15.0f} {ours / curl:6.2f} {library:18.0f} {ours / library:6.2f}")
            before = resident_mb(service.pid)
            bench.up(5 * megabytes)
            bench.down()
            forget(service)
            bench.down()
            grown = peak_mb(service.pid) - before
            print(f"{5 * megabytes} MB up and down: {grown:.0f} MB more in the service at the most")
            assert grown < GROWTH_MB, grown


class _Bench:
    def __init__(self, service: RunningService, alone: S3Store, scratch: Path) -> None:
        self._service, self._alone, self._scratch = service, alone, scratch
        self._block = os.urandom(MB)
        self._key = ["-H", f"Authorization: Bearer {service.api_key}"]
        with AgentService(service.api_key, service.base_url) as client:
            self._chat = client.runs.start("say hello", sync=True).chat

    def round(self, megabytes: int) -> dict[str, tuple[float, float, float]]:
        """Seconds up and down, each through the service, and to the server alone by curl and by obstore, by turns.

        What was just sent is in the service's cache; another service, or this one later, has it from the bucket.
        """
        up = self.up(megabytes), self._curl_up(), self._library_up()
        warm = self.down()
        forget(self._service)
        cold = self.down()
        alone = self._curl_down(), self._library_down()
        return {"up": up, "down, from the bucket": (cold, *alone), "down, from the cache": (warm, *alone)}

    def _curl_up(self) -> float:
        return self._curl("-T", str(self._scratch / "up.bin"), self._signed("PUT"))

    def _curl_down(self) -> float:
        return self._curl("-o", str(self._scratch / "alone.bin"), self._signed("GET"))

    def _library_up(self) -> float:
        begin = time.perf_counter()
        obstore.put(self._alone, "alone", self._scratch / "up.bin")
        return time.perf_counter() - begin

    def _library_down(self) -> float:
        begin = time.perf_counter()
        with (self._scratch / "alone.bin").open("wb") as file:
            for piece in obstore.get(self._alone, "alone").stream(min_chunk_size=PIECE_BYTES):
                file.write(piece)
        return time.perf_counter() - begin

    def _signed(self, method: Literal["GET", "PUT"]) -> str:
        """The address of an object, which anybody may ask for that has it."""
        return obstore.sign(self._alone, method, "alone", timedelta(hours=1))

    def up(self, megabytes: int) -> float:
        source = self._scratch / "up.bin"
        with source.open("wb") as file:
            file.write(os.urandom(MB))  # a new content: one that is there is not sent again
            for _ in range(megabytes - 1):
                file.write(self._block)
        return self._curl("-F", f"files=@{source}", self._url("?"), *self._key)

    def down(self) -> float:
        target = self._scratch / "down.bin"
        took = self._curl("-o", str(target), self._url("/download?path=uploads/up.bin&"), *self._key)
        assert target.stat().st_size == (self._scratch / "up.bin").stat().st_size
        return took

    def _url(self, route: str) -> str:
        return f"{self._service.base_url}{V1}/files{route}chat_id={self._chat}"

    def _curl(self, *arguments: str) -> float:
        """Seconds, the start of curl's process included."""
        begin = time.perf_counter()
        subprocess.run(["curl", "-sSf", *arguments], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - begin


if __name__ == "__main__":
    main("--quick" in sys.argv)
