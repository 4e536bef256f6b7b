"""Files and search over HTTP (docs/api/files.md)."""

from __future__ import annotations

import hashlib
from typing import Any

import httpx
import pytest

from agentsvc_nb import AgentService, RequestTooLargeError
from agentsvc_nb.testing import running_service
from agentsvc_nb.wire.routes import V1
from tests.service.api.conftest import Wire, code
from tests.support.contents import incoming
from tests.support.waiting import until

WORDS = b"the needle is here"
WAV = b"RIFF\x24\x00\x00\x00WAVEfmt " + bytes(16)
MP4 = b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2"
START = {"payload": '{"message": "say x"}'}


def put(wire: Wire, chat: str, name: str = "notes.md", content: bytes = WORDS) -> None:
    answer = wire("POST", "/files", params={"chat_id": chat}, files={"files": (name, content)})
    assert answer.status_code == 200, answer.text


def listed(wire: Wire, chat: str, **params: Any) -> dict[str, Any]:
    document: dict[str, Any] = wire("GET", "/files", params={"chat_id": chat, **params}).json()
    return document


def paths(wire: Wire, chat: str) -> list[str]:
    return [file["path"] for file in listed(wire, chat)["files"]]


def found(wire: Wire, chat: str, q: str) -> list[dict[str, Any]]:
    answer = wire("GET", "/files/search", params={"chat_id": chat, "q": q})
    assert answer.status_code == 200, answer.text
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


@pytest.mark.rule("A listing entry has the SHA-256 as `id` and a `download_url` for the same key.")
def test_the_listing_pages_by_path(wire: Wire) -> None:
    chat = wire.finish("\n".join(f"write f{number}.txt {number}" for number in range(5)))["chat"]
    first = listed(wire, chat, limit=2)
    assert ([file["path"] for file in first["files"]], first["next_after"]) == (["f0.txt", "f1.txt"], "f1.txt")
    rest = listed(wire, chat, after="f1.txt", limit=3)
    assert ([file["path"] for file in rest["files"]], rest["next_after"]) == (["f2.txt", "f3.txt", "f4.txt"], None)
    assert listed(wire, chat, after="zzz")["files"] == []
    for limit in ("0", "1001", "ten"):
        assert code(wire("GET", "/files", params={"chat_id": chat, "limit": limit})) == "invalid_query"


@pytest.mark.rule("A download is an attachment with its hash as `ETag`, also in ranges.")
def test_downloads_are_attachments_with_their_hash_and_in_ranges(wire: Wire) -> None:
    chat = wire.finish("write a.html <script>alert(1)</script>")["chat"]
    params = {"chat_id": chat, "path": "a.html"}

    def get(asked: str, **headers: str) -> httpx.Response:
        return wire("GET", "/files/download", params=params, headers={"Range": asked, **headers})

    whole = wire("GET", "/files/download", params=params)
    size = len(whole.content)
    assert whole.headers["etag"] == f'"{hashlib.sha256(whole.content).hexdigest()}"'
    assert whole.headers["content-disposition"].startswith("attachment")
    assert whole.headers["x-content-type-options"] == "nosniff"
    for asked, expected in (("0-0", whole.content[:1]), ("8-", whole.content[8:]), ("-3", whole.content[-3:])):
        part = get(f"bytes={asked}")
        assert (part.status_code, part.content) == (206, expected)
        assert part.headers["content-range"].endswith(f"/{size}")
    for unmet in ("bytes=999-", "bytes=-0"):
        beyond = get(unmet)
        assert (beyond.status_code, code(beyond)) == (416, "range_not_satisfiable")
        assert beyond.headers["content-range"] == f"bytes */{size}"
    for ignored in (get("bytes=5-2"), get("bytes=8-", **{"If-Range": '"other"'})):
        assert (ignored.status_code, ignored.content) == (200, whole.content)


@pytest.mark.rule("Unknown chats and files are a 404, and ill-formed ids a 400.")
def test_what_is_not_there_is_404(wire: Wire) -> None:
    chat = wire.new_chat()
    for path in ("none", "a\0b", "../../etc/passwd", "/etc/passwd"):
        assert code(wire("GET", "/files/download", params={"chat_id": chat, "path": path})) == "file_not_found"
    assert code(wire("GET", "/files", params={"chat_id": "chat_none"})) == "chat_not_found"
    assert code(wire("GET", "/files", params={"chat_id": "nonsense"})) == "invalid_chat"


@pytest.mark.rule("Search lists name matches first, then contents with marked words.")
def test_search_ranks_names_before_contents_and_marks_words(wire: Wire) -> None:
    chat = wire.new_chat()
    for name, content in (("margin.md", b"nothing"), ("notes.md", b"The margin is 44 percent."), ("other.md", b"no")):
        put(wire, chat, name, content)
    named, held = found(wire, chat, "marg")
    assert (named["file_name"], named["match"], named["snippets"]) == ("margin.md", "name", [])
    assert named["id"] == hashlib.sha256(b"nothing").hexdigest()
    assert (held["file_name"], held["match"], held["object"]) == (
        "notes.md",
        "content",
        "workspace_file_search_result",
    )
    assert {"text": "margin", "match": True} in held["snippets"][0]
    put(wire, chat, "notes.md", b"other words")
    assert [result["match"] for result in found(wire, chat, "margin ")] == ["name"], "the old words are gone"


@pytest.mark.rule("A new file is found by name at once, and by its words when its run has ended.")
def test_a_file_of_an_active_run_is_found_by_name_at_once_and_by_its_words_at_the_end(wire: Wire) -> None:
    run = wire.start("write needle.txt haystack\nwait 600")
    until(lambda: found(wire, run["chat"], "needle"))
    wire("POST", f"/runs/{run['run_id']}/cancel")
    until(lambda: wire("GET", f"/runs/{run['run_id']}").json()["ended_at"])
    assert [result["match"] for result in found(wire, run["chat"], "haystack")] == ["content"]


@pytest.mark.rule("`q` has 1 to 200 characters, and any text is a query.")
def test_any_query_of_1_to_200_characters_is_answered(wire: Wire) -> None:
    chat = wire.new_chat()
    for q in ("x" * 200, "a\0b", '"', "NEAR(a b)", "{x}:y", "*", "%"):
        assert found(wire, chat, q) == []
    words = " ".join(chr(0x4E00 + number) for number in range(65))
    for q in ("", "x" * 201, words):  # each word is looked up apart
        assert code(wire("GET", "/files/search", params={"chat_id": chat, "q": q})) == "invalid_query"


@pytest.mark.rule("A search returns at most 50 results with up to two snippets each.")
def test_at_most_50_results_with_two_snippets_each(wire: Wire) -> None:
    words = "needle in the first place, " + "and so on " * 60 + "needle again, " + "and so on " * 60 + "needle"
    chat = wire.finish("\n".join(f"write {number:02}.txt {words}" for number in range(55)))["chat"]
    results = found(wire, chat, "needle")
    assert len(results) == 50
    assert {len(result["snippets"]) for result in results} == {2}


@pytest.mark.rule("A member's own name for a file survives new contents.")
def test_a_name_survives_new_contents(wire: Wire) -> None:
    chat = wire.new_chat()
    put(wire, chat)
    look = {"chat_id": chat, "path": "uploads/notes.md"}
    for body in (*({"name": name} for name in ("x" * 201, "two\nlines", "txt\u202egpj.exe", 5, None)), {}):
        answer = wire("PATCH", "/files", params=look, json=body)
        assert (answer.status_code, code(answer)) == (400, "invalid_json")
    assert listed(wire, chat)["files"][0]["name"] is None
    renamed = wire("PATCH", "/files", params=look, json={"name": "Autumn \N{MAN}\u200d\N{WOMAN}"}).json()
    assert (renamed["name"], renamed["file_name"]) == ("Autumn \N{MAN}\u200d\N{WOMAN}", "notes.md")
    put(wire, chat, content=b"other words")
    for word in ("autumn", "notes"):  # and by the name it had before
        assert [result["name"] for result in found(wire, chat, word)] == [renamed["name"]]
    assert wire("PATCH", "/files", params=look, json={"name": ""}).json()["name"] is None


@pytest.mark.rule("Audio and video are rejected by content, not by name.")
@pytest.mark.parametrize(("name", "content"), [("voice.txt", WAV), ("film.csv", MP4)])
def test_audio_and_video_are_refused_by_content(wire: Wire, name: str, content: bytes) -> None:
    files, chat = [("files", ("good.txt", b"x")), ("files", (name, content))], wire.new_chat()
    assert code(wire("POST", "/runs", data=START, files=files)) == "unsupported_attachment"
    assert code(wire("POST", "/files", params={"chat_id": chat}, files=files)) == "unsupported_attachment"
    assert listed(wire, chat)["files"] == []
    assert wire("POST", "/files", files=[("files", ("song.mp3", b"la la la"))]).status_code == 200, "only named so"


@pytest.mark.rule("A request has at most 10 files.")
def test_a_payload_is_an_object_with_at_most_ten_files(wire: Wire) -> None:
    files = [("files", ("a.txt", b"x"))]
    as_blob = [*files, ("payload", ("blob", b'{"message": "say as a browser sends it"}', "application/json"))]
    assert wire("POST", "/runs", files=as_blob).status_code == 202
    for payload in ("[]", "{", ""):
        assert code(wire("POST", "/runs", data={"payload": payload}, files=files)) == "invalid_json"
    many = [("files", (f"{number}.txt", b"x")) for number in range(11)]
    assert code(wire("POST", "/files", files=many)) == "too_many_files"
    assert code(wire("POST", "/runs", data=START, files=many)) == "too_many_attachments"


@pytest.mark.rule("A file over the limit is a 413 in a start and a 400 when staged, and the refusal arrives.")
def test_a_refused_upload_of_20_mb_is_answered() -> None:
    """Also while it is still sent."""
    big, over = b"\0" * 20_000_000, b"\0" * 1_000_001
    with (
        running_service(max_file_bytes=1_000_000) as small,
        httpx.Client(base_url=small.base_url + V1, headers={"x-api-key": small.api_key}, timeout=60) as http,
        AgentService(small.api_key, small.base_url) as client,
    ):
        for _ in range(3):
            answer = http.post("/runs", data=START, files=[("files", ("big.bin", big))])
            assert (answer.status_code, code(answer)) == (413, "attachment_too_large")
            assert answer.headers["connection"] == "close"
        with pytest.raises(RequestTooLargeError):
            client.runs.start("say x", files=[("big.bin", big)])
        # One file at its byte, in a request that is small enough:
        assert code(http.post("/runs", data=START, files=[("files", ("over", over))])) == "attachment_too_large"
        assert code(http.post("/files", files=[("files", ("over", over))])) == "file_too_large"
        assert http.post("/files", files=[("files", ("ok", over[1:]))]).status_code == 200
        assert list(incoming(small).iterdir()) == []


# -- a new chat that begins with the files of another, and the chat of a session ---------------------------------------


@pytest.mark.rule("`files_from` copies another chat's files into the new chat.")
def test_the_new_chat_has_the_files_and_goes_its_own_way(wire: Wire) -> None:
    chat: str = wire.finish("write out/plan.md Autumn plan\nwrite logs/chat-summary.md so far")["chat"]
    put(wire, chat, "a.txt", b"alpha words")
    sent = {"json": {"message": "write out/plan.md Winter plan", "files_from": chat, "sync": True}}
    first, again = (wire("POST", "/runs", **sent, headers={"Idempotency-Key": f"once-{chat}"}) for _ in range(2))
    assert first.json()["run_id"] == again.json()["run_id"], "what is sent again copies nothing again"
    copy = first.json()["chat"]
    assert copy != chat
    refused = wire("POST", "/runs", json={"message": "say x", "files_from": chat, "session": "mine"})
    assert code(refused) == "invalid_chat"
    assert paths(wire, copy) == ["out/plan.md", "uploads/a.txt"]
    for each, plan in ((chat, b"Autumn plan"), (copy, b"Winter plan")):
        assert wire("GET", "/files/download", params={"chat_id": each, "path": "out/plan.md"}).content == plan
    until(lambda: [hit["path"] for hit in found(wire, copy, "alpha")] == ["uploads/a.txt"])


def test_files_are_put_into_the_chat_of_a_session(wire: Wire) -> None:
    sent = [("files", (f"{number}.txt", b"x")) for number in range(10)]
    (first, *_) = wire("POST", "/files", params={"session": "brief"}, files=sent).json()["files"]
    [again] = wire("POST", "/files", params={"session": "brief"}, files={"files": ("more.txt", b"y")}).json()["files"]
    assert first["chat"] == again["chat"] == wire.finish("say x", session="brief")["chat"]
    assert len(paths(wire, first["chat"])) == 11
