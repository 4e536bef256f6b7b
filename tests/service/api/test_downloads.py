"""Downloads through both faces, from a real service over a network that breaks."""

from __future__ import annotations

import hashlib
import itertools
import random
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb.client.errors import APIConnectionError, StefanBrainError
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.limits import MIB
from tests.service.api.conftest import Wire
from tests.service.api.cuts import Cuts
from tests.service.api.faces import Face, async_face, sync_face

CONTENT = random.Random(4).randbytes(5 * MIB + 7)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def chat(wire: Wire) -> str:
    chat = wire.new_chat()
    wire("POST", "/files", params={"chat_id": chat}, files=[("files", ("big.bin", CONTENT))])
    return chat


def listed(face: Face, chat: str) -> WorkspaceFile:
    found: WorkspaceFile = face(lambda client: client.files.list(chat).first())
    return found


def download(path: Any, **more: Any) -> Callable[[Any], Any]:
    return lambda client: client.files.download(path, **more)


def test_a_download_goes_on_where_it_broke(face: Face, chat: str, tmp_path: Path) -> None:
    """More cuts than there are retries: each brought something."""
    cuts = Cuts([MIB + 1] * 4)
    told: list[tuple[int, int]] = []
    place = face(download("uploads/big.bin", chat=chat, to=tmp_path, on_progress=lambda *at: told.append(at)), cuts)
    assert place.read_bytes() == CONTENT
    assert cuts.ranges == [None, *[f"bytes={n * (MIB + 1)}-" for n in range(1, 5)]]
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    steps = [later - earlier for (earlier, _), (later, _) in itertools.pairwise([(0, 0), *told])]
    assert max(steps) <= MIB  # after each half megabyte, and at most a chunk more
    assert [path.name for path in tmp_path.iterdir()] == ["big.bin"]


def test_bytes_in_memory_go_on_too(face: Face, chat: str) -> None:
    cuts = Cuts([MIB + 1, 5])
    assert face(download("uploads/big.bin", chat=chat), cuts) == CONTENT
    assert cuts.ranges == [None, f"bytes={MIB + 1}-", f"bytes={MIB + 6}-"]


@pytest.mark.parametrize("by_entry", [False, True], ids=["path", "entry"])
def test_the_next_call_goes_on_where_the_last_one_broke(face: Face, chat: str, tmp_path: Path, by_entry: bool) -> None:
    wanted = listed(face, chat) if by_entry else "uploads/big.bin"
    with pytest.raises(APIConnectionError):
        face(download(wanted, chat=chat, to=tmp_path, max_retries=0), Cuts([2 * MIB]))
    assert [path.name for path in tmp_path.iterdir()] == [f"big.bin.{SHA256[:16]}.part"]
    again = Cuts([])
    assert face(download(wanted, chat=chat, to=tmp_path), again).read_bytes() == CONTENT
    assert again.ranges[-1] == f"bytes={2 * MIB}-"
    assert [path.name for path in tmp_path.iterdir()] == ["big.bin"]


@pytest.mark.parametrize(
    "left", [b"something else", b"x" * (len(CONTENT) + 5), CONTENT], ids=["other", "longer", "all"]
)
def test_what_lies_there_as_part_is_not_believed(face: Face, chat: str, tmp_path: Path, left: bytes) -> None:
    (tmp_path / f"big.bin.{SHA256[:16]}.part").write_bytes(left)
    assert face(download("uploads/big.bin", chat=chat, to=tmp_path)).read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["big.bin"]


def test_a_link_in_the_place_of_the_part_is_not_followed(face: Face, chat: str, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / f"big.bin.{SHA256[:16]}.part").symlink_to(elsewhere)
    with pytest.raises(OSError, match="symbolic links"):
        face(download("uploads/big.bin", chat=chat, to=tmp_path / "in"))
    assert elsewhere.read_text() == "mine"


def test_a_link_at_the_target_is_replaced_not_followed(face: Face, chat: str, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    (tmp_path / "big.bin").symlink_to(elsewhere)
    assert face(download("uploads/big.bin", chat=chat, to=tmp_path)).read_bytes() == CONTENT
    assert (elsewhere.read_text(), (tmp_path / "big.bin").is_symlink()) == ("mine", False)


def test_what_is_on_disk_already_is_not_fetched(face: Face, chat: str, tmp_path: Path) -> None:
    entry, target = listed(face, chat), tmp_path / "big.bin"
    target.write_bytes(CONTENT)
    before, passed = target.stat().st_mtime_ns, Cuts([])
    assert face(download(entry, chat=chat, to=tmp_path), passed) == target
    assert passed.ranges == []
    # By path the content is known from the answer's headers only.
    assert face(download("uploads/big.bin", chat=chat, to=tmp_path), Cuts([1])) == target
    assert target.stat().st_mtime_ns == before


def test_two_at_once_do_not_spoil_each_other(service: RunningService, chat: str, tmp_path: Path) -> None:
    """They write to one `.part`."""
    face = sync_face(service.api_key, service.base_url)
    entry = listed(face, chat)
    with ThreadPoolExecutor() as pool:
        places = list(pool.map(lambda _: face(download(entry, chat=chat, to=tmp_path)), range(6)))
    assert {place.read_bytes() for place in places} == {CONTENT}
    assert [path.name for path in tmp_path.iterdir()] == ["big.bin"]


def test_a_listed_file_that_has_changed_is_not_taken(face: Face, chat: str, tmp_path: Path) -> None:
    entry = listed(face, chat).model_copy(update={"id": "0" * 64})
    with pytest.raises(StefanBrainError, match="has another content by now"):
        face(download(entry, chat=chat, to=tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file(face: Face, chat: str, wire: Wire, tmp_path: Path) -> None:
    wire("POST", "/files", params={"chat_id": chat}, files=[("files", ("a-empty.txt", b""))])
    entry = listed(face, chat)
    assert (entry.file_name, entry.size_bytes) == ("a-empty.txt", 0)
    for _ in range(2):
        assert face(download(entry, chat=chat, to=tmp_path)).read_bytes() == b""
        assert face(download(entry.path, chat=chat, to=tmp_path)).read_bytes() == b""
    assert [path.name for path in tmp_path.iterdir()] == ["a-empty.txt"]


def test_a_hook_that_raises_ends_the_download_and_the_next_goes_on(face: Face, chat: str, tmp_path: Path) -> None:
    def stop(done: int, total: int | None) -> None:
        if done > MIB:
            raise InterruptedError(done)

    with pytest.raises(InterruptedError):
        face(download("uploads/big.bin", chat=chat, to=tmp_path, on_progress=stop))
    again = Cuts([])
    assert face(download("uploads/big.bin", chat=chat, to=tmp_path), again).read_bytes() == CONTENT
    assert int(str(again.ranges[-1])[6:-1]) > MIB


def test_a_file_that_is_not_there(face: Face, chat: str, tmp_path: Path) -> None:
    with pytest.raises(StefanBrainError) as caught:
        face(download("uploads/none.bin", chat=chat, to=tmp_path))
    assert (caught.value.code, list(tmp_path.iterdir())) == ("file_not_found", [])


def test_the_progress_of_an_upload(face: Face, tmp_path: Path) -> None:
    (tmp_path / "big.bin").write_bytes(CONTENT)
    told: list[tuple[int, int]] = []
    staged = face(lambda client: client.files.upload(tmp_path / "big.bin", on_progress=lambda *at: told.append(at)))
    assert [file.sha256 for file in staged] == [SHA256]
    assert told[-1][0] == told[-1][1] > len(CONTENT)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert len(told) > 10


def test_a_file_is_never_whole_in_memory(face: Face, chat: str, tmp_path: Path) -> None:
    face(download("uploads/big.bin", chat=chat))  # what the first call imports is no part of it
    tracemalloc.start()
    try:
        place = face(download("uploads/big.bin", chat=chat, to=tmp_path))
        face(lambda client: client.files.upload(place))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3.5 * MIB < len(CONTENT)


def test_an_async_hook_is_awaited(service: RunningService, chat: str, tmp_path: Path) -> None:
    told: list[int] = []

    async def hear(done: int, total: int | None) -> None:
        told.append(done)

    face = async_face(service.api_key, service.base_url)
    face(download("uploads/big.bin", chat=chat, to=tmp_path, on_progress=hear))
    assert told[-1] == len(CONTENT)
    face(lambda client: client.files.upload(("a.txt", b"a"), on_progress=hear))
    assert 0 < told[-1] < 1_000


def test_the_files_of_a_job(face: Face, tmp_path: Path) -> None:
    request = {"request": {"brief": "Autumn sale", "outputs": {"count": 2}}}
    job = face(lambda client: client.jobs.submit_and_wait("create_images", request))
    told: list[tuple[int, int]] = []
    for _ in range(2):
        places = face(
            lambda client: client.jobs.download_artifacts(
                job, to=tmp_path / "new" / "folder", on_progress=lambda *at: told.append(at)
            )
        )
        assert [hashlib.sha256(place.read_bytes()).hexdigest() for place in places] == [file.id for file in job.files]
    assert len(set(places)) == len(job.files) > 1
    assert told[-1][0] == told[-1][1] == sum(file.size_bytes for file in job.files)
    by_id = face(lambda client: client.jobs.download_artifacts(job.job_id, chat=job.chat, to=tmp_path / "more"))
    assert [place.name for place in by_id] == [place.name for place in places]
