"""Files that come: broken off, continued, changed meanwhile, not what they say, with names that lead elsewhere."""

import gzip
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from agentsvc_nb import StefanBrainError, WorkspaceFile
from tests.independent.checking import Outcome, outcome
from tests.independent.faces import FACES, Case, Group, Pool, generated
from tests.independent.mock import Fault, Mock, Reply, Seen, Wire, answer, problem
from tests.independent.records import CHAT, CONTENT, download, file_entry, instead, job, service, sha

PATH = "reports/prices.csv"
OTHER = b"quite another text\n" * 500
PARTS = {"bytes": None, "file": "got.csv", "folder": ""}
Answers = Callable[[Seen], Reply | Fault]


def cut(at: int, data: bytes = CONTENT, *, reset: bool = False) -> Fault:
    """So many bytes of the answer's body, and no more."""

    def act(wire: Wire, seen: Seen, good: Reply) -> None:
        reply = download(seen, data)
        wire.send(reply.head(Content_Length=str(len(reply.body))) + reply.body[:at])
        if reset:
            wire.rest(0.03)
            wire.reset()

    return Fault("cut", act)


def _serving(*ways: Reply | Fault | Answers) -> Mock:
    """A service whose downloads are these, and the last of them from then on."""
    left = list(ways)

    def file(seen: Seen) -> Reply | Fault:
        way = left.pop(0) if len(left) > 1 else left[0]
        return way(seen) if callable(way) else way

    mock = Mock(instead("GET", "/files/download", file))
    mock.counts = lambda seen: seen.path == "/files/download"
    return mock


def _fetch(mock: Mock, face: str, to: str, folder: Path, path: Any = PATH, **options: Any) -> Outcome:
    """Download as bytes, into a file or into a folder; the value is the content."""
    given = {"chat": CHAT} if isinstance(path, str) else {}
    place = {} if to == "bytes" else {"to": folder / "got.csv" if to == "file" else f"{folder}/"}
    result = outcome(mock, face, lambda c: c.files.download(path, **given, **place), **options)
    if isinstance(result.value, Path):
        assert result.value == folder / ("got.csv" if to == "file" else "prices.csv")
        result.value = result.value.read_bytes()
    return result


def _whole(face: str, to: str, ways: list[Any], content: bytes = CONTENT) -> None:
    """Whatever happened on the way, the content is right and there is nothing beside it."""
    with tempfile.TemporaryDirectory() as name, _serving(*ways) as mock:
        result = _fetch(mock, face, to, Path(name))
        assert result.value == content, result.error
        assert len(list(Path(name).iterdir())) == (to != "bytes")


def _either(face: str, to: str, ways: list[Any], content: bytes) -> None:
    """One content or an error, and never some of each."""
    with tempfile.TemporaryDirectory() as name, _serving(*ways) as mock:
        result = _fetch(mock, face, to, Path(name))
        assert result.value == content if result.error is None else result.failure
        assert len(mock.counted()) <= 4


def _continued(face: str, to: str, at: int, reset: bool) -> None:
    """The second request asks for the rest, and only of the same content."""
    with tempfile.TemporaryDirectory() as name, _serving(cut(at, reset=reset), download) as mock:
        assert _fetch(mock, face, to, Path(name)).value == CONTENT
        first, second = mock.counted()
        assert first.header("range") is None
        if at and second.header("range"):
            assert second.header("range") == f"bytes={at}-"
            assert second.header("if-range") == f'"{sha(CONTENT)}"'


def _wrong(face: str, to: str, ways: list[Any], entry: bool) -> None:
    """Content that is not what it should be is told, and never gets the file's name."""
    path = WorkspaceFile.model_validate(file_entry()) if entry else PATH
    with tempfile.TemporaryDirectory() as name, _serving(*ways) as mock:
        result = _fetch(mock, face, to, Path(name), path)
        assert result.failure
        assert len(mock.counted()) <= 4
        assert not [each for each in Path(name).iterdir() if not each.name.endswith(".part")]


def _wrong_over(face: str, ways: list[Any]) -> None:
    """What was there before a download that failed is still there."""
    with tempfile.TemporaryDirectory() as name, _serving(*ways) as mock:
        (Path(name) / "got.csv").write_bytes(b"before")
        assert _fetch(mock, face, "file", Path(name)).failure
        assert (Path(name) / "got.csv").read_bytes() == b"before"


def _by_the_next(face: str, second: bytes) -> None:
    """What one call left is continued by the next, unless the content is another one now."""
    with tempfile.TemporaryDirectory() as name:
        with _serving(cut(1000)) as mock:
            assert _fetch(mock, face, "file", Path(name), max_retries=0).failure
        with _serving(partial(download, data=second)) as mock:
            assert _fetch(mock, face, "file", Path(name)).value == second
        if second == CONTENT:
            assert [each.name for each in Path(name).iterdir()] == ["got.csv"]


def _beside(face: str, leftover: bytes) -> None:
    """A `.part` file of whatever content does no harm."""
    with tempfile.TemporaryDirectory() as name, _serving(download) as mock:
        for part in ("got.csv.part", ".got.csv.part"):
            (Path(name) / part).write_bytes(leftover)
        assert _fetch(mock, face, "file", Path(name)).value == CONTENT


def _there_already(face: str) -> None:
    with tempfile.TemporaryDirectory() as name, _serving(download) as mock:
        place = Path(name) / "got.csv"
        place.write_bytes(CONTENT)
        before = place.stat()
        entry = WorkspaceFile.model_validate(file_entry())
        assert _fetch(mock, face, "file", Path(name), entry).value == CONTENT
        assert (place.stat().st_mtime_ns, place.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


def _told(face: str, to: str) -> None:
    """The progress grows up to the whole, through a cut."""
    told: list[tuple[int, int | None]] = []
    with tempfile.TemporaryDirectory() as name, _serving(cut(3000), download) as mock:
        place = {} if to == "bytes" else {"to": Path(name) / "x"}
        call = partial(_downloading, place, lambda done, total: told.append((done, total)))
        assert outcome(mock, face, call).value
        assert [done for done, _ in told] == sorted(done for done, _ in told)
        assert told[-1][0] == len(CONTENT)
        assert {total for _, total in told} <= {None, len(CONTENT)}


def _downloading(place: dict[str, Any], told: Callable[[int, int | None], None], client: Any) -> Any:
    return client.files.download(PATH, chat=CHAT, on_progress=told, **place)


HOSTILE = [
    "../evil", "../../evil", "/etc/evil", "a/../../evil", "a/..", "..", ".", "", "a/", "a/.", "..\\evil", ".hidden",
    "a\\..\\..\\evil", "C:\\evil", "C:evil", "\\\\host\\evil", "evil\x00.txt", "evil\n.txt", "~/evil", "~root",
    "x" * 400, "ü" * 200, "con", "nul.txt", "a:b", "..%2fevil", "%2e%2e/evil", " ", "...", "evil. ", "-rf",
    "a\u202etxt.exe", "\u2028",
]  # fmt: skip


def _inside(root: Path, folder: Path, result: Outcome) -> None:
    made = [each for each in root.rglob("*") if each != folder]
    assert all(folder in each.parents for each in made), made
    assert result.error is None or isinstance(result.error, (StefanBrainError, OSError, ValueError)), result.error
    if result.error is None:
        for place in result.value if isinstance(result.value, list) else [result.value]:
            assert place.parent.resolve() == folder.resolve()
            assert place.read_bytes() == CONTENT


def _hostile(face: str, path: str, how: str) -> None:
    """A name of the service never leads out of the folder."""
    with tempfile.TemporaryDirectory() as name, Mock(service) as mock:
        root = Path(name).resolve()
        folder = root / "into"
        folder.mkdir()
        entry = file_entry(path, file_name=path)
        if how == "path":
            result = outcome(mock, face, lambda c: c.files.download(path, chat=CHAT, to=f"{folder}/"))
        elif how == "entry":
            record = WorkspaceFile.model_validate(entry)
            result = outcome(mock, face, lambda c: c.files.download(record, to=f"{folder}/"))
        else:
            done = answer(job(kind="files", files=[entry, entry]))
            mock.answers = instead("GET", "/jobs/job_1/result", lambda seen: done)
            result = outcome(mock, face, lambda c: c.jobs.download_artifacts("job_1", chat=CHAT, to=folder))
        _inside(root, folder, result)


def _elsewhere(face: str, how: str, url: str) -> None:
    """An address that leads to another origin gets nothing, whatever the entry says."""
    with tempfile.TemporaryDirectory() as name, Mock(download) as other, Mock(service) as mock:
        target = url.format(other.origin, other.origin.removeprefix("http:"), other.origin.removeprefix("http://"))
        entry = file_entry(download_url=target)
        if how == "entry":
            record = WorkspaceFile.model_validate(entry)
            outcome(mock, face, lambda c: c.files.download(record, to=f"{name}/"))
        else:
            done = answer(job(kind="files", files=[entry]))
            mock.answers = instead("GET", "/jobs/job_1/result", lambda seen: done)
            outcome(mock, face, lambda c: c.jobs.download_artifacts("job_1", chat=CHAT, to=name))
        assert not other.seen, other.seen[0].headers


def _artifacts(face: str) -> None:
    """Files of one name get numbers; what is there stays."""
    with tempfile.TemporaryDirectory() as name, Mock(service) as mock:
        files = [file_entry(f"{folder}/v.png", data=CONTENT) for folder in "abc"]
        mock.answers = instead("GET", "/jobs/job_1/result", lambda seen: answer(job(kind="files", files=files)))
        value = outcome(mock, face, lambda c: c.jobs.download_artifacts("job_1", chat=CHAT, to=f"{name}/new")).value
        assert [each.name for each in value] == ["v.png", "v-2.png", "v-3.png"]
        assert all(each.read_bytes() == CONTENT for each in value)


def _endless(wire: Wire, seen: Seen, good: Reply) -> None:
    wire.send(good.head())
    for _ in range(3_000):
        wire.send(b"z" * 65_536)


def _head(face: str, way: Reply | Fault | Answers, size: int, begin: bytes) -> None:
    """The beginning, and no more is read than that."""
    with _serving(way) as mock:
        result = outcome(mock, face, lambda c: c.files.head(PATH, size, chat=CHAT))
        assert result.value == begin, result.error


def _plain(data: bytes, **headers: str) -> Reply:
    return Reply(200, data, {name.replace("_", "-"): value for name, value in headers.items()})


def _shifted(seen: Seen) -> Reply:
    reply = download(seen)
    reply.headers["Content-Range"] = f"bytes 5-{len(CONTENT) - 1}/{len(CONTENT)}"
    return reply


def _unconditional(seen: Seen) -> Reply:
    """A service that forgets `If-Range` gives the rest of another content."""
    at = int((seen.header("range") or "bytes=0-").removeprefix("bytes=").split("-")[0])
    headers = {"ETag": f'"{sha(OTHER)}"', "Content-Range": f"bytes {at}-{len(OTHER) - 1}/{len(OTHER)}"}
    return Reply(206 if at else 200, OTHER[at:], headers if at else {"ETag": headers["ETag"]})


def _zipped(seen: Seen) -> Reply:
    if "gzip" not in (seen.header("accept-encoding") or ""):
        return download(seen)
    return _plain(gzip.compress(CONTENT), Content_Encoding="gzip", ETag=f'"{sha(CONTENT)}"')


GOOD: dict[str, tuple[list[Any], bytes]] = {
    "plain": ([download], CONTENT),
    "empty": ([partial(download, data=b"")], b""),
    "no tag": ([lambda seen: _plain(CONTENT)], CONTENT),
    "a tag that is no hash": ([lambda seen: _plain(CONTENT, ETag='"v1"')], CONTENT),
    "a weak tag": ([lambda seen: _plain(CONTENT, ETag=f'W/"{sha(CONTENT)}"')], CONTENT),
    "the whole again": ([cut(1000), lambda seen: _plain(CONTENT, ETag=f'"{sha(CONTENT)}"')], CONTENT),
    "without a tag, cut": ([cut(1000), lambda seen: _plain(CONTENT)], CONTENT),
    "cut twice": ([cut(1000)] * 2 + [download], CONTENT),
    "cut before any byte": ([cut(0), download], CONTENT),
    "503 in between": ([cut(1000), problem(503, "brain_unavailable"), download], CONTENT),
    "zipped for who takes it": ([_zipped], CONTENT),
}
EITHER: dict[str, tuple[list[Any], bytes]] = {
    "changed meanwhile": ([cut(1000), partial(download, data=OTHER)], OTHER),
    "changed twice": ([cut(1000), cut(500, OTHER), download], CONTENT),
    "416 in between": ([cut(1000), Reply(416, b"", {"Content-Range": "bytes */9"}), download], CONTENT),
    "cut six times": ([cut(1000)] * 6 + [download], CONTENT),
    "the rest of another": ([cut(1000), _unconditional], OTHER),
}
BAD: dict[str, tuple[list[Any], bool]] = {
    "another content than its tag": ([lambda seen: _plain(OTHER, ETag=f'"{sha(CONTENT)}"')], False),
    "another content than listed": ([partial(download, data=OTHER)], True),
    "another content than listed, tagged as listed": ([lambda seen: _plain(OTHER, ETag=f'"{sha(CONTENT)}"')], True),
    "one byte more than listed": ([partial(download, data=CONTENT + b"!")], True),
    "nothing at all": ([partial(download, data=b"")], True),
    "the rest of another": ([cut(1000), _unconditional], True),
    "a rest from elsewhere": ([cut(1000), _shifted], True),
    "404 while it goes on": ([cut(1000), problem(404, "file_not_found")], False),
    "always cut": ([cut(0)], False),
}


def _cases() -> list[Case]:
    cases: list[Case] = []
    faces = list(FACES)

    def add(name: str, check: Callable[..., None], *rest: Any, all_faces: bool = True) -> None:
        for face in faces if all_faces else [faces[len(cases) % 3]]:
            cases.append(Case(f"{name}-{face}", partial(check, face, *rest)))

    for to in PARTS:
        for name, (ways, content) in GOOD.items():
            add(f"{name}-{to}", _whole, to, ways, content)
        for name, (ways, content) in EITHER.items():
            add(f"{name}-{to}", _either, to, ways, content)
        for name, (ways, entry) in BAD.items():
            add(f"{name}-{to}", _wrong, to, ways, entry)
        for at in (0, 1, 999, 4096, len(CONTENT) - 1):
            add(f"cut at {at}-{to}", _continued, to, at, at % 2 == 0)
        add(f"told-{to}", _told, to)
    for name, (ways, entry) in BAD.items():
        if not entry:
            add(f"{name}-over", _wrong_over, ways)
    for name, content in {"same": CONTENT, "other": OTHER, "shorter": b"x" * 10, "empty": b""}.items():
        add(f"the next call-{name}", _by_the_next, content)
    for leftover in (b"", b"garbage", CONTENT[:500], CONTENT, CONTENT + b"and more"):
        add(f"beside {len(leftover)} bytes", _beside, leftover)
    add("there already", _there_already)
    for number, path in enumerate(HOSTILE):
        for how in ("path", "entry", "artifacts"):
            add(f"hostile {number}-{how}", _hostile, path, how, all_faces=False)
    for number, url in enumerate(
        ("{0}/x", "{1}/x", "http://x@{2}/x", "{0}", "@{2}/x", "\\\\{2}/x", "file:///etc/passwd")
    ):
        for how in ("entry", "artifacts"):
            add(f"elsewhere {number}-{how}", _elsewhere, how, url)
    add("artifacts", _artifacts)
    add("head of a range", _head, download, 20, CONTENT[:20])
    add("head of a short file", _head, partial(download, data=b"ab"), 20, b"ab")
    add("head of an empty file", _head, partial(download, data=b""), 20, b"")
    add("head without ranges", _head, lambda seen: _plain(CONTENT), 20, CONTENT[:20])
    add("head of what never ends", _head, Fault("endless", _endless), 100, b"z" * 100)
    return cases


@generated(_cases())
def test_downloads(group: Group, pool: Pool) -> None:
    pool.check(group)
