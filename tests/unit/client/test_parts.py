"""What can be attached, and the bytes that go out for it."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest
from PIL import Image

from tests.unit.client.conftest import RESET, Networks, answer, run

PRICES = pd.DataFrame({"product": ["lamp", "chäir"], "price": [12.5, 80.0]})
LISTED = answer(200, {"files": []})


def sent(network: Networks, *given: Any) -> list[tuple[str, bytes]]:
    """Name and content of each file in the body."""
    net = network(LISTED)
    net.client.files.upload(*given)
    return contents(net.requests[0])


def contents(request: httpx.Request) -> list[tuple[str, bytes]]:
    assert request.headers["content-length"] == str(len(request.content))
    boundary = request.headers["content-type"].partition("boundary=")[2].encode()
    found = []
    for piece in request.content.split(b"--" + boundary)[1:-1]:
        head, _, body = piece.partition(b"\r\n\r\n")
        if name := re.search(rb'filename="([^"]*)"', head):
            found.append((name[1].decode(), body.removesuffix(b"\r\n")))
    return found


def test_attachments_go_as_multipart_and_are_opened_anew_for_a_retry(both: Networks, tmp_path: Path) -> None:
    """An open file goes from where it stands, also the second time."""
    (tmp_path / "plan.md").write_bytes(b"# Plan\r\n")
    net = both(RESET, answer(202, run()))
    with (tmp_path / "plan.md").open("rb") as opened:
        opened.read(2)
        files = [str(tmp_path / "plan.md"), ("a/b.txt", b"bytes"), ("c.bin", io.BytesIO(b"io")), opened]
        net.call(lambda client: client.runs.start("hello", files=files, idempotency_key="k"))
    expected = [("plan.md", b"# Plan\r\n"), ("b.txt", b"bytes"), ("c.bin", b"io"), ("plan.md", b"Plan\r\n")]
    assert len(net.requests) == 2
    for request in net.requests:
        assert contents(request) == expected
        assert b'name="payload"\r\n\r\n{"message":"hello"}' in request.content


def test_a_dataframe_goes_as_csv(network: Networks) -> None:
    """With an index that says something."""
    csv = "product,price\nlamp,12.5\nchäir,80.0\n".encode()
    assert sent(network, PRICES, ("prices.csv", PRICES), PRICES["price"], PRICES.set_index("product")) == [
        ("table.csv", csv),
        ("prices.csv", csv),
        ("table-2.csv", b"price\n12.5\n80.0\n"),
        ("table-3.csv", csv),
    ]


def test_pictures_and_figures_go_as_png(network: Networks) -> None:
    """matplotlib is no dependency: a figure is an object with `savefig`."""

    class Figure:
        def savefig(self, to: io.BytesIO, format: str, bbox_inches: str) -> None:
            Image.new("L", (1, 1)).save(to, format)

    picture = Image.new("RGB", (2, 3), "red")
    files = sent(network, picture, ("red.png", picture), Figure(), Figure())
    assert [name for name, _ in files] == ["image.png", "red.png", "figure.png", "figure-2.png"]
    assert Image.open(io.BytesIO(files[0][1])).size == (2, 3)
    assert files[2][1].startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"plain w\xc3\xb6rds", "text.txt"),
        (b"\xff\x00\x01", "data.bin"),
        (b"%PDF-1.7 ...", "document.pdf"),
        (b"\x89PNG\r\n\x1a\n...", "image.png"),
        (b"\xff\xd8\xff\xe0", "image.jpg"),
    ],
)
def test_bytes_are_named_by_what_they_are(network: Networks, content: bytes, name: str) -> None:
    assert sent(network, content, bytearray(content)) == [(name, content), (name.replace(".", "-2."), content)]
