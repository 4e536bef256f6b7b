"""A private S3 server (SeaweedFS from its wheel) on loopback, in a temporary folder."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import sysconfig
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from tests.support.waiting import until

BUCKET: Final = "contents"
KEY, SECRET = "test-key", "test-secret"
_OPERATOR: Final = {"accessKey": "operator", "secretKey": "operator-secret"}
_RIGHTS: Final = ["Read", "Write", "List", "Tagging"]


class S3Server:
    """The server; `env` are the variables of a service that keeps its contents in the bucket `BUCKET`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._ports = _free_ports(8)
        self.url = f"http://127.0.0.1:{self._ports[0]}"
        identities = [
            {"name": "operator", "credentials": [_OPERATOR], "actions": ["Admin", "Read", "Write", "List"]},
            {"name": "service", "credentials": [{"accessKey": KEY, "secretKey": SECRET}], "actions": _RIGHTS},
        ]
        (folder / "s3.json").write_text(json.dumps({"identities": identities}))
        (folder / "data").mkdir()

    @property
    def env(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
        }

    def address(self) -> str:
        """The place of contents for a new service."""
        return f"s3://{BUCKET}/{uuid.uuid4().hex}"

    def start(self) -> None:
        """Start it, with what it held before, and wait until it takes an object."""
        names = [f"{of}.port{kind}" for of in ("s3", "master", "volume", "filer") for kind in ("", ".grpc")]
        options = {
            **dict(zip(names, self._ports, strict=True)),
            "s3.port.iceberg": 0,
            "s3.port.lance": 0,
            "volume.max": 100,
            "master.volumeSizeLimitMB": 1000,
            "volume.preStopSeconds": 0,
            "ip": "127.0.0.1",
            "ip.bind": "127.0.0.1",
            "master.telemetry": "false",
            "s3.localSocket": self._folder / "s3.sock",
            "filer.localSocket": self._folder / "filer.sock",
            "dir": self._folder / "data",
            "s3.config": self._folder / "s3.json",
        }
        given = [f"-{name}={value}" for name, value in options.items()]
        # Without `-logtostderr` it leaves files of its own in the folder of temporary ones.
        command = [str(Path(sysconfig.get_path("scripts"), "weed")), "-logtostderr=true", "server", "-s3", *given]
        with (self._folder / "weed.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        until(self._has_bucket)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        for port in self._ports:  # it puts them there whatever folder it is told, and leaves them
            for left in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                left.unlink(missing_ok=True)

    def store(self, prefix: str = "") -> S3Store:
        """All objects, or those of the service at `address`, for a look beside the service."""
        return _store(self.url, KEY, SECRET, prefix.removeprefix(f"s3://{BUCKET}/"))

    def _has_bucket(self) -> bool:
        operator = _store(self.url, _OPERATOR["accessKey"], _OPERATOR["secretKey"])
        with contextlib.suppress(BaseError):
            obstore.put(operator, "ready", b"yes")  # makes the bucket, which the service itself may not
            return True
        return False


def _store(url: str, key: str, secret: str, prefix: str = "") -> S3Store:
    return S3Store(
        BUCKET,
        prefix=prefix or None,
        endpoint=url,
        access_key_id=key,
        secret_access_key=secret,
        region="us-east-1",
        client_options={"allow_http": True},
    )


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@contextlib.contextmanager
def running_s3() -> Iterator[S3Server]:
    """A server that ends with the block, with all that it holds."""
    folder = Path(tempfile.mkdtemp(prefix="s3-"))
    server = S3Server(folder)
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)
