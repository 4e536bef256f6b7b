"""Slices of files that a page sends: a repeated one changes nothing, and a wrong one costs nothing that has come."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from agentsvc_nb.notebook.widgets.front import Front
from agentsvc_nb.notebook.widgets.uploads import Uploads
from tests.notebook.fronts import say

CASES: dict[str, tuple[Sequence[tuple[int, bytes]], str]] = {
    "in order": ([(0, b"ab"), (2, b"cd")], ""),
    "the first again": ([(0, b"ab"), (0, b"ab"), (2, b"cd")], ""),
    "other content again": ([(0, b"ab"), (0, b"xy"), (2, b"cd")], "byte 2 comes next"),
    "a gap": ([(0, b"a"), (3, b"d"), (1, b"bcd")], "byte 1 comes next"),
}
ARRIVED: dict[str, tuple[Sequence[tuple[int, bytes]], str]] = {
    "other content": ([(0, b"abcd"), (0, b"abXd")], "at byte 0 was refused: it has come whole"),
    "more": ([(0, b"abcd"), (4, b"e")], "at byte 4 was refused: it has come whole"),
}


class Page:
    """What a page sent to an `Uploads`, and what came of it."""

    def __init__(self, slices: Sequence[tuple[int, bytes]], size: int) -> None:
        self.come: list[tuple[str, Path]] = []
        self.refused: list[str] = []
        self.front = Front("live", "writing", "chat")
        self.uploads = Uploads(self.front, lambda key, path: self.come.append((key, path)), self.refused.append)
        self.send(slices, size)

    def send(self, slices: Sequence[tuple[int, bytes]], size: int) -> None:
        for at, content in slices:
            say(self.front, "file", content, id="1", name="a.txt", size=size, at=at)


@pytest.mark.parametrize(("slices", "refused"), [*CASES.values(), *ARRIVED.values()], ids=[*CASES, *ARRIVED])
def test_an_upload_arrives_once_and_whole(slices: Sequence[tuple[int, bytes]], refused: str) -> None:
    page = Page(slices, 4)
    assert [(key, path.read_bytes()) for key, path in page.come] == [("1", b"abcd")]
    assert len(page.refused) == bool(refused)
    assert refused in "".join(page.refused)


def test_an_empty_file_arrives_once_and_one_that_is_over_does_not_begin_anew() -> None:
    page = Page([(0, b""), (0, b"")], 0)
    [(key, path)] = page.come
    page.uploads.done(key)
    page.send([(0, b"")], 0)
    assert (len(page.come), path.exists(), page.refused) == (1, False, [])
