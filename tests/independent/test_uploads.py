"""Files that go out: whole, under their names, again after a failure, and refused while they are still on their way."""

import io
import tempfile
import time
from collections.abc import Callable
from email import message_from_bytes
from functools import partial
from pathlib import Path
from typing import Any

from agentsvc_nb import APIConnectionError, AuthenticationError, RequestTooLargeError, StefanBrainError
from tests.independent.checking import outcome
from tests.independent.faces import FACES, Call, Case, Group, Pool, generated
from tests.independent.mock import Fault, Mock, Reply, Seen, Wire, problem
from tests.independent.operations import IDEM
from tests.independent.records import CHAT, service

Part = tuple[str, str | None, bytes]


def parts(seen: Seen) -> list[Part]:
    """The fields of a form: name, file name, content."""
    kind = seen.header("content-type") or ""
    assert kind.startswith("multipart/form-data"), kind
    boundary = kind.split("boundary=")[1].strip('"').encode()
    pieces = seen.body.split(b"--" + boundary)
    assert pieces[0] == b""
    assert pieces[-1].strip() == b"--"
    found = []
    for piece in pieces[1:-1]:
        head, _, content = piece.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        message = message_from_bytes(head + b"\r\n\r\n")
        name = message.get_param("name", header="content-disposition")
        raw = head.split(b'filename="')[1].split(b'"')[0].decode() if b'filename="' in head else None
        found.append((str(name), raw, content.removesuffix(b"\r\n")))
    return found


NAMES = {
    "plain": "a.txt", "blank": "a b.txt", "umlauts": "Ä ö.txt", "another script": "価格表.csv", 
    "long": "x" * 200 + ".txt",
    "quotes": 'a"b".txt', "a line end": "a\r\nX-Evil: 1\r\n\r\nb.txt", "percent": "a%22b.txt", "emoji": "🙂.txt",
    "backslash": "a\\b.txt", "semicolon": "a;filename=b.txt",
}  # fmt: skip
CONTENTS = {
    "empty": b"", "short": b"abc", "binary": bytes(range(256)) * 40, "line ends": b"\r\n--\r\n--x--\r\n", 
    "long": b"z" * 3_000_000,
}  # fmt: skip


def _sent(face: str, how: str, name: str, content: bytes) -> None:
    """Each way to give a file sends the same bytes, under the field `files`."""
    with tempfile.TemporaryDirectory() as folder, Mock(service) as mock:
        path = Path(folder) / "on-disk.bin"
        path.write_bytes(b"before" + content if how == "opened" else content)
        with path.open("rb") as opened:
            opened.seek(6 if how == "opened" else 0)
            given: Any = {"bytes": (name, content), "path": path, "opened": (name, opened), "text": str(path)}[how]
            value = outcome(mock, face, lambda c: c.files.upload(given)).value
        assert value[0].id == "upload_1"
        (field, sent_name, sent), *rest = parts(mock.seen[0])
        assert not rest
        assert (field, sent) == ("files", content)
        assert sent_name is not None
        assert "\r" not in sent_name
        if how in ("path", "text"):
            assert sent_name == "on-disk.bin"
        elif name.isascii() and not set(name) & set('"\r\n\\%'):
            assert sent_name == name


def _started(face: str) -> None:
    """A start with files: a `payload` that is the JSON object, and the files."""
    files = [("a.txt", b"abc"), ("b.txt", b"")]
    with Mock(service) as mock:
        call: Call = lambda c: c.runs.start("Hi ä", chat=CHAT, files=files, file_ids=["upload_1"])  # noqa: E731
        assert outcome(mock, face, call).value.status == "queued"
        found = {(field, name): content for field, name, content in parts(mock.seen[0])}
        assert found["files", "a.txt"] == b"abc"
        assert found["files", "b.txt"] == b""
        payload = next(content for (field, _), content in found.items() if field == "payload").decode()
        assert '"chat_1"' in payload
        assert '"upload_1"' in payload


def _too_many(face: str, call: Call, code: str) -> None:
    """More than ten are refused before anything is sent."""
    with Mock(service) as mock:
        assert outcome(mock, face, call).failure.code == code
        assert not mock.seen


def _no_file(face: str, given: Any, kind: type[Exception]) -> None:
    with Mock(service) as mock:
        result = outcome(mock, face, lambda c: c.files.upload(given))
        assert isinstance(result.error, kind), repr(result.error)
        assert not mock.seen


def _again(face: str, fault: Fault, how: str) -> None:
    """What is sent again is all of it, from where the file stood."""
    content = b"0123456789" * 100_000
    with tempfile.TemporaryDirectory() as folder, Mock(service, [fault] * 2) as mock:
        path = Path(folder) / "a.bin"
        path.write_bytes(b"before" + content)
        with path.open("rb") as opened:
            opened.seek(6)
            given: Any = opened if how == "opened" else ("a.bin", content)
            value = outcome(mock, face, lambda c: c.files.upload(given)).value
        assert value[0].id == "upload_1"
        assert len(mock.seen) == 3
        for seen in mock.seen:
            if seen.body:
                assert parts(seen)[0][2] == content


def _refusing(reply: Reply, drain: float) -> Fault:
    """Answer before the body is there, then read on for a while, as the rules say a service does."""

    def act(wire: Wire, seen: Seen, good: Reply) -> None:
        body = reply.body
        wire.send(reply.head(Connection="close", Content_Length=str(len(body))) + body)
        until = time.monotonic() + drain
        wire.sock.settimeout(0.2)
        while time.monotonic() < until:
            try:
                if not wire.sock.recv(1 << 16):
                    return
            except TimeoutError:
                return

    return Fault("refusing", act, early=True)


def _refused(face: str, call: Call, status: int, code: str, kind: type[StefanBrainError]) -> None:
    """An early answer arrives, though the body was still on its way, and is not asked for again."""
    with Mock(service, [_refusing(problem(status, code), 4)] * 5) as mock:
        error = outcome(mock, face, call).failure
        assert (type(error), error.status, error.code) == (kind, status, code)
        assert len(mock.seen) == 1


def _cut_off(face: str, call: Call, reply: Reply) -> None:
    """A service that does not read on resets the connection: the answer, or that none came."""
    with Mock(service, [_refusing(reply, 0)] * 9) as mock:
        error = outcome(mock, face, call).failure
        assert type(error) in (APIConnectionError, RequestTooLargeError)
        assert len(mock.seen) <= 3


def _early_503(face: str) -> None:
    """An early answer that passes is followed by the whole upload."""
    with Mock(service, [_refusing(problem(503, "brain_unavailable"), 4)]) as mock:
        value = outcome(mock, face, lambda c: c.files.upload(("a.bin", LARGE))).value
        assert value[0].id == "upload_1"
        assert len(mock.seen) == 2
        assert parts(mock.seen[1])[0][2] == LARGE


def _told(face: str, fault: Fault | None) -> None:
    told: list[tuple[int, int]] = []
    with Mock(service, [fault] if fault else []) as mock:
        call: Call = lambda c: c.files.upload(  # noqa: E731
            ("a.bin", b"z" * 900_000), on_progress=lambda done, total: told.append((done, total))
        )
        assert outcome(mock, face, call).value
        assert len({total for _, total in told}) == 1
        assert told[-1][0] == told[-1][1] == int(mock.seen[-1].header("content-length") or 0)


LARGE = b"q" * 12_000_000


def _cases() -> list[Case]:
    cases: list[Case] = []
    faces = list(FACES)

    def add(name: str, check: Callable[..., None], *rest: Any, all_faces: bool = True) -> None:
        for face in faces if all_faces else [faces[len(cases) % 3]]:
            cases.append(Case(f"{name}-{face}", partial(check, face, *rest)))

    for how in ("bytes", "path", "opened", "text"):
        for label, content in CONTENTS.items():
            add(f"{label}-{how}", _sent, how, "a.txt", content)
    for label, name in NAMES.items():
        for how in ("bytes", "opened"):
            add(f"name {label}-{how}", _sent, how, name, b"abc")
    add("a start", _started)
    eleven = [("a.txt", b"abc")] * 11
    add("too many to stage", _too_many, lambda c: c.files.upload(*eleven), "too_many_files")
    add("too many to start", _too_many, lambda c: c.runs.start("Hi", files=eleven), "too_many_attachments")
    ids = [f"upload_{i}" for i in range(4)]
    both: Call = lambda c: c.runs.start("Hi", files=eleven[:7], file_ids=ids)  # noqa: E731
    add("too many of both", _too_many, both, "too_many_attachments")
    many: Call = lambda c: c.ask("Hi", file_ids=ids * 2, image_urls=["https://example.com"] * 3)  # noqa: E731
    add("too many to ask", _too_many, many, "too_many_attachments")
    add("no such path", _no_file, "/there/is/nothing", OSError)
    add("a folder", _no_file, Path("/tmp"), OSError)
    add("no file", _no_file, 7, TypeError)
    add("text mode", _no_file, io.StringIO("x"), TypeError)
    for how in ("opened", "bytes"):
        add(f"lost-{how}", _again, Fault("lost", lambda wire, seen, good: wire.reset()), how)
        add(f"lost early-{how}", _again, Fault("lost", lambda wire, seen, good: wire.reset(), early=True), how)
        add(f"502-{how}", _again, Fault("502", lambda wire, seen, good: wire.send(problem(502, None).whole)), how)
    calls: dict[str, Call] = {
        "staging": lambda c: c.files.upload(("a.bin", LARGE)),
        "a start": lambda c: c.runs.start("Hi", files=[("a.bin", LARGE)]),
        "a keyed start": lambda c: c.runs.start("Hi", files=[("a.bin", LARGE)], idempotency_key=IDEM),
    }
    for label, call in calls.items():
        add(f"413 early-{label}", _refused, call, 413, "attachment_too_large", RequestTooLargeError)
        add(f"401 early-{label}", _refused, call, 401, "unauthorized", AuthenticationError)
        add(f"400 early-{label}", _refused, call, 400, "file_too_large", StefanBrainError)
        add(f"cut off-{label}", _cut_off, call, problem(413, "attachment_too_large"))
    add("503 early", _early_503)
    add("told", _told, None)
    add("told twice", _told, Fault("lost", lambda wire, seen, good: wire.reset()))
    return cases


@generated(_cases())
def test_uploads(group: Group, pool: Pool) -> None:
    pool.check(group)
