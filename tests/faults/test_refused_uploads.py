"""An upload that is refused before all of it was sent gives the refusal, not the broken connection."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb import RequestTooLargeError
from agentsvc_nb.testing import running_service
from agentsvc_nb.wire.limits import MIB
from tests.faults.faces import async_face, sync_face
from tests.support.sampling import sampled

BODY = json.dumps({"error": {"message": "Too large.", "type": "t", "code": "attachment_too_large"}}).encode()
ANSWER = b"HTTP/1.1 413 Too Large\r\nx-request-id: req_1\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(BODY)
TIMES = 3
FACES = pytest.mark.parametrize("face", sampled([sync_face, async_face], sync_face))


@contextlib.contextmanager
def rude_service(after: int, reset: bool) -> Iterator[str]:
    """An address that reads `after` bytes or a little more of each request, answers 413 and closes: what comes then is
    answered by the kernel, with RST."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = threading.Thread(target=_refuse_all, args=(listening, after, reset))
        serving.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
        serving.join()


def _refuse_all(listening: socket.socket, after: int, reset: bool) -> None:
    with contextlib.suppress(OSError):  # it is shut down
        while True:
            connection, _ = listening.accept()
            with connection:
                received = 0
                while received < after:
                    received += len(connection.recv(64 * 1024))
                connection.sendall(ANSWER + BODY)
                if reset:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@FACES
@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("after", sampled([1, 1_000, MIB], 1_000))
def test_the_answer_to_a_broken_upload_is_read(face: Any, after: int, reset: bool, tmp_path: Path) -> None:
    (tmp_path / "big.bin").write_bytes(bytes(8 * MIB))
    with rude_service(after, reset) as base_url:
        for _ in range(TIMES):
            with pytest.raises(RequestTooLargeError) as caught:
                face("svc_sk_x", base_url)(lambda client: client.files.upload(tmp_path / "big.bin"))
            assert (caught.value.code, caught.value.request_id) == ("attachment_too_large", "req_1")
            assert caught.value.attempts == 1


@FACES
def test_ours_refuses_so_too_and_the_next_upload_goes(face: Any, tmp_path: Path) -> None:
    (tmp_path / "big.bin").write_bytes(bytes(8 * MIB))
    (tmp_path / "small.bin").write_bytes(bytes(1_000))
    with running_service(max_file_bytes=MIB) as service:

        def twice(client: Any) -> Any:
            with pytest.raises(RequestTooLargeError):
                client.runs.start("say x", files=[tmp_path / "big.bin"])
            return client.files.upload(tmp_path / "small.bin")

        async def twice_async(client: Any) -> Any:
            with pytest.raises(RequestTooLargeError):
                await client.runs.start("say x", files=[tmp_path / "big.bin"])
            return await client.files.upload(tmp_path / "small.bin")

        uploading = twice if face is sync_face else twice_async
        assert face(service.api_key, service.base_url)(uploading)[0].size_bytes == 1_000
