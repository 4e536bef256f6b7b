"""What can be attached, and the bytes that go out for it."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest
from PIL import Image

from agentsvc_nb.client.api import AgentService
from agentsvc_nb.client.errors import APIConnectionError
from agentsvc_nb.client.uploads import parts
from tests.unit.client.conftest import KEY, Network, answer

Networks = Callable[..., Network]
PRICES = pd.DataFrame({"product": ["lamp", "chäir"], "price": [12.5, 80.0]})


def sent(network: Networks, *given: Any) -> list[tuple[str, bytes]]:
    """Name and content of each file in the body."""
    net = network(answer(200, {"files": []}))
    net.client.files.upload(*given)
    return contents(net.requests[0])


def contents(request: httpx.Request) -> list[tuple[str, bytes]]:
    assert request.headers["content-length"] == str(len(request.content))
    boundary = request.headers["content-type"].partition("boundary=")[2].encode()
    found = []
    for piece in request.content.split(b"--" + boundary)[1:-1]:
        head, _, body = piece.partition(b"\r\n\r\n")
        name = re.search(rb'filename="([^"]*)"', head)
        assert name
        found.append((name[1].decode(), body.removesuffix(b"\r\n")))
    return found


class Sizes(httpx.BaseTransport):
    """Keeps the sizes of the pieces in which a body is sent."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        assert isinstance(request.stream, httpx.SyncByteStream)
        self.seen += map(len, request.stream)
        return answer(200, {"files": []})


@pytest.mark.parametrize("kind", ["bytes", "file", "path"])
def test_much_goes_in_pieces(tmp_path: Path, kind: str) -> None:
    """One large piece is copied several times over before the deadline is looked at again."""
    content, network = bytes(1_000_000), Sizes()
    (tmp_path / "a.bin").write_bytes(content)
    given: dict[str, Any] = {"bytes": content, "file": io.BytesIO(content), "path": tmp_path / "a.bin"}
    AgentService(KEY, "http://service.test", transport=network).files.upload(given[kind])
    assert sum(network.seen) > 1_000_000
    assert max(network.seen) <= 256 * 1024


def test_what_is_made_of_content_takes_of_the_deadline(network: Networks) -> None:
    net = network()

    class Large(pd.DataFrame):
        def to_csv(self, *args: Any, **options: Any) -> Any:
            net.slept.append(10.0)
            return super().to_csv(*args, **options)

    sends: list[Callable[[], Any]] = [
        lambda: net.client.files.upload(Large(PRICES), deadline=5),
        lambda: net.client.runs.start("x", files=[Large(PRICES)], deadline=5),
    ]
    for send in sends:
        with pytest.raises(APIConnectionError, match="deadline passed"):
            send()
    assert net.requests == []


def test_a_dataframe_goes_as_csv(network: Networks) -> None:
    csv = "product,price\nlamp,12.5\nchäir,80.0\n".encode()
    assert sent(network, PRICES, ("prices.csv", PRICES), PRICES["price"]) == [
        ("table.csv", csv),
        ("prices.csv", csv),
        ("table-2.csv", b"price\n12.5\n80.0\n"),
    ]


def test_an_index_that_says_something_goes_along(network: Networks) -> None:
    [(_, csv)] = sent(network, PRICES.set_index("product"))
    assert csv.decode() == "product,price\nlamp,12.5\nchäir,80.0\n"


def test_a_picture_goes_as_png(network: Networks) -> None:
    picture = Image.new("RGB", (2, 3), "red")
    [(name, png), (other, _)] = sent(network, picture, ("red.png", picture))
    assert (name, other) == ("image.png", "red.png")
    assert Image.open(io.BytesIO(png)).size == (2, 3)


def test_a_figure_goes_as_png(network: Networks) -> None:
    """matplotlib is no dependency: a figure is an object with `savefig`."""

    class Figure:
        def savefig(self, to: io.BytesIO, format: str, bbox_inches: str) -> None:
            Image.new("L", (1, 1)).save(to, format)

    [(name, png), (second, _)] = sent(network, Figure(), Figure())
    assert (name, second, png[:4]) == ("figure.png", "figure-2.png", b"\x89PNG")


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"plain w\xc3\xb6rds", "text.txt"),
        (b"", "text.txt"),
        (b"\xff\x00\x01", "data.bin"),
        (b"nul\0", "data.bin"),
        (b"%PDF-1.7 ...", "document.pdf"),
        (b"\x89PNG\r\n\x1a\n...", "image.png"),
        (b"\xff\xd8\xff\xe0", "image.jpg"),
        (b"RIFF0000WEBPVP8 ", "image.webp"),
    ],
)
def test_bytes_are_named_by_what_they_are(network: Networks, content: bytes, name: str) -> None:
    assert sent(network, content, bytearray(content)) == [(name, content), (name.replace(".", "-2."), content)]


def test_an_open_file_goes_from_where_it_stands_also_the_second_time(network: Networks, tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_bytes(b"header\nrest")
    net = network(httpx.ReadError("reset"), answer(200, {"files": []}))
    with (tmp_path / "log.txt").open("rb") as opened:
        opened.readline()
        net.client.files.upload(opened)
    assert [contents(request) for request in net.requests] == [[("log.txt", b"rest")]] * 2


def test_a_file_without_a_name(network: Networks) -> None:
    assert sent(network, io.BytesIO(b"a"), io.BytesIO(b"b")) == [("file", b"a"), ("file-2", b"b")]


@pytest.mark.parametrize("wrong", [{"a": 1}, [b"x"], object(), pd])
def test_what_is_no_file_says_what_would_be(wrong: Any) -> None:
    with pytest.raises(TypeError, match=rf"Cannot send a {type(wrong).__name__}: give a path, bytes, a DataFrame"):
        parts([wrong], "too_many_files")
