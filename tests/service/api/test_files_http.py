"""Files over HTTP (docs/api/files.md "Search")."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Any

import httpx
import pytest

from agentsvc_nb import AgentService, AsyncAgentService, RequestTooLargeError
from agentsvc_nb.testing import RunningService, running_service
from tests.service.api.conftest import Wire, code
from tests.support.contents import incoming
from tests.support.waiting import until
from tests.unit.service.test_searching import SLOW_QUERY, SLOW_TEXT

WAV = b"RIFF\x24\x00\x00\x00WAVEfmt " + bytes(16)
MP4 = b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2"


def put(wire: Wire, chat: str, **files: bytes) -> dict[str, Any]:
    parts = [("files", (name.replace("__", "."), content)) for name, content in files.items()]
    answer = wire("POST", "/files", params={"chat_id": chat}, files=parts)
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


def listed(wire: Wire, chat: str, **params: Any) -> dict[str, Any]:
    document: dict[str, Any] = wire("GET", "/files", params={"chat_id": chat, **params}).json()
    return document


def found(wire: Wire, chat: str, q: str) -> list[dict[str, Any]]:
    answer = wire("GET", "/files/search", params={"chat_id": chat, "q": q})
    assert answer.status_code == 200, answer.text
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


def test_staging_answers_what_was_stored(wire: Wire) -> None:
    staged = wire("POST", "/files", files=[("files", ("a.csv", b"x,y\n1,2\n"))]).json()
    entry = staged["files"][0]
    assert (staged["object"], entry["object"]) == ("list", "staged_file")
    assert entry["id"].startswith("upload_")
    assert (entry["file_name"], entry["media_type"], entry["size_bytes"]) == ("a.csv", "text/csv", 8)
    assert entry["sha256"] == hashlib.sha256(b"x,y\n1,2\n").hexdigest()


def test_a_changed_file_replaces_the_one_put_before(wire: Wire) -> None:
    chat = wire.new_chat()
    put(wire, chat, a__txt=b"old words")
    put(wire, chat, a__txt=b"new words")
    files = listed(wire, chat)["files"]
    assert [(file["path"], file["id"]) for file in files] == [
        ("uploads/a.txt", hashlib.sha256(b"new words").hexdigest())
    ]
    assert found(wire, chat, "old ") == []
    assert len(found(wire, chat, "new")) == 1


def test_the_listing_pages_by_path(wire: Wire) -> None:
    chat = wire.finish("\n".join(f"write f{number}.txt {number}" for number in range(5)))["chat"]
    first = listed(wire, chat, limit=2)
    assert ([file["path"] for file in first["files"]], first["next_after"]) == (["f0.txt", "f1.txt"], "f1.txt")
    rest = listed(wire, chat, after="f1.txt", limit=3)
    assert ([file["path"] for file in rest["files"]], rest["next_after"]) == (["f2.txt", "f3.txt", "f4.txt"], None)


def test_an_entry_says_who_wrote_it_and_where_to_fetch_it(wire: Wire) -> None:
    run = wire.finish("write notes/ä+b&c.md # Hello")
    entry = listed(wire, run["chat"])["files"][0]
    assert (entry["kind"], entry["run_id"], entry["output"]) == ("output", run["run_id"], None)
    assert entry["download_url"].startswith("/api/developers/v1/files/download?")
    assert wire("GET", entry["download_url"]).content == b"# Hello"


def test_downloads_are_attachments_with_their_hash_and_in_ranges(wire: Wire) -> None:
    chat = wire.finish("write a.html <script>alert(1)</script>")["chat"]
    params = {"chat_id": chat, "path": "a.html"}
    whole = wire("GET", "/files/download", params=params)
    assert whole.headers["etag"] == f'"{hashlib.sha256(whole.content).hexdigest()}"'
    assert whole.headers["content-disposition"].startswith("attachment")
    assert whole.headers["x-content-type-options"] == "nosniff"
    part = wire("GET", "/files/download", params=params, headers={"Range": "bytes=8-"})
    assert (part.status_code, part.content) == (206, whole.content[8:])
    stale = wire("GET", "/files/download", params=params, headers={"Range": "bytes=8-", "If-Range": '"other"'})
    assert (stale.status_code, stale.content) == (200, whole.content)
    some = wire("GET", "/files/download", params=params, headers={"Range": "bytes=999-, 0-1"})
    assert (some.status_code, some.content) == (206, whole.content[:2])
    for unmet in ("bytes=999-", "bytes=-0", "bytes=999-,-0"):
        beyond = wire("GET", "/files/download", params=params, headers={"Range": unmet})
        assert (beyond.status_code, code(beyond)) == (416, "range_not_satisfiable")
        assert beyond.headers["content-range"] == f"bytes */{len(whole.content)}"
    for unread in ("items=0-1", "bytes", "bytes=x-", "bytes=-", "bytes=5-2"):
        ignored = wire("GET", "/files/download", params=params, headers={"Range": unread})
        assert (ignored.status_code, ignored.content) == (200, whole.content)


def test_what_is_not_there_is_404(wire: Wire) -> None:
    chat = wire.new_chat()
    assert code(wire("GET", "/files/download", params={"chat_id": chat, "path": "none"})) == "file_not_found"
    assert code(wire("GET", "/files", params={"chat_id": "chat_none"})) == "chat_not_found"
    assert code(wire("GET", "/files", params={"chat_id": "nonsense"})) == "invalid_chat"
    assert code(wire("GET", "/files")) == "invalid_query"


def test_search_ranks_names_before_contents_and_marks_words(wire: Wire) -> None:
    chat = wire.new_chat()
    put(wire, chat, margin__md=b"nothing of it", notes__md=b"The margin is 44 percent.", other__md=b"no")
    results = found(wire, chat, "marg")
    assert [(result["file_name"], result["match"]) for result in results] == [
        ("margin.md", "name"),
        ("notes.md", "content"),
    ]
    assert {"text": "margin", "match": True} in results[1]["snippets"][0]
    assert results[0]["id"] == hashlib.sha256(b"nothing of it").hexdigest()


def test_a_renamed_file_answers_to_its_new_name(wire: Wire) -> None:
    chat = wire.new_chat()
    put(wire, chat, a__txt=b"words")
    params = {"chat_id": chat, "path": "uploads/a.txt"}
    renamed = wire("PATCH", "/files", params=params, json={"name": "Autumn brief"}).json()
    assert (renamed["name"], renamed["file_name"]) == ("Autumn brief", "a.txt")
    assert [result["name"] for result in found(wire, chat, "autumn")] == ["Autumn brief"]


def test_a_members_name_is_one_line_in_one_direction(wire: Wire) -> None:
    params = {"chat_id": wire.finish("write a.txt words")["chat"], "path": "a.txt"}
    for joined in ("\N{MAN}\u200d\N{WOMAN}", "می\u200cخواهم"):
        assert wire("PATCH", "/files", params=params, json={"name": joined}).json()["name"] == joined
    for wrong in ("a\nb", "a\u2028b", "txt\u202egpj.exe", "x" * 201, 5, None):
        assert code(wire("PATCH", "/files", params=params, json={"name": wrong})) == "invalid_json"


def test_scratch_is_listed_but_never_found(wire: Wire) -> None:
    chat = wire.finish("write tmp/a.txt needle\nwrite x/.hidden needle\nwrite kept.txt needle")["chat"]
    assert len(listed(wire, chat)["files"]) == 3
    assert [result["path"] for result in found(wire, chat, "needle")] == ["kept.txt"]


@pytest.mark.parametrize("q", ["", "x" * 201])
def test_a_query_has_1_to_200_characters(wire: Wire, q: str) -> None:
    chat = wire.new_chat()
    assert code(wire("GET", "/files/search", params={"chat_id": chat, "q": q})) == "invalid_query"


def test_a_search_that_takes_too_long_is_an_invalid_query(wire: Wire) -> None:
    chat = wire.new_chat()
    put(wire, chat, long__txt=SLOW_TEXT.encode())
    until(lambda: wire("GET", "/files/search", params={"chat_id": chat, "q": "b "}).json()["results"])
    answer = wire("GET", "/files/search", params={"chat_id": chat, "q": SLOW_QUERY})
    assert (answer.status_code, code(answer)) == (400, "invalid_query")
    assert "takes too long" in answer.json()["error"]["message"]


@pytest.mark.parametrize(("name", "content"), [("voice.txt", WAV), ("film.csv", MP4)])
def test_audio_and_video_are_refused_by_content(wire: Wire, name: str, content: bytes) -> None:
    files = [("files", (name, content))]
    started = wire("POST", "/runs", data={"payload": '{"message": "say x"}'}, files=files)
    assert code(started) == "unsupported_attachment"
    assert code(wire("POST", "/files", files=files)) == "unsupported_attachment"


def test_a_text_that_is_only_named_like_a_song_is_accepted(wire: Wire) -> None:
    assert wire("POST", "/files", files=[("files", ("song.mp3", b"la la la"))]).status_code == 200


def test_eleven_files_are_too_many(wire: Wire) -> None:
    files = [("files", (f"{number}.txt", b"x")) for number in range(11)]
    assert code(wire("POST", "/files", files=files)) == "too_many_files"
    assert code(wire("POST", "/runs", data={"payload": '{"message": "say x"}'}, files=files)) == "too_many_attachments"


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("multipart/form-data", b"x"),
        ("multipart/form-data; boundary=b", b"no boundary here"),
        ("multipart/form-data; boundary=" + "b" * 5000, b"x"),
        ("multipart/form-data; boundary=b", b'--b\r\nContent-Disposition: form-data; name="f"\r\n\r\ncut'),
    ],
)
def test_a_broken_multipart_body_is_refused(wire: Wire, content_type: str, body: bytes) -> None:
    for path in ("/runs", "/files"):
        answer = wire("POST", path, content=body, headers={"Content-Type": content_type})
        assert (answer.status_code, code(answer)) == (400, "invalid_multipart")


def test_a_payload_that_is_no_object_is_invalid_json(wire: Wire) -> None:
    files = [("files", ("a.txt", b"x"))]
    as_blob = [*files, ("payload", ("blob", b'{"message": "say as a browser sends it"}', "application/json"))]
    assert wire("POST", "/runs", files=as_blob).status_code == 202
    for payload in ("[]", "{", ""):
        assert code(wire("POST", "/runs", data={"payload": payload}, files=files)) == "invalid_json"


async def refusals(service: RunningService, big: bytes) -> list[str | None]:
    """Twenty starts of the async client, one after the other."""
    codes: list[str | None] = []
    async with AsyncAgentService(service.api_key, service.base_url) as client:
        for _ in range(20):
            with pytest.raises(RequestTooLargeError) as caught:
                await client.runs.start("say x", files=[("big.bin", big)])
            codes.append(caught.value.code)
    return codes


def test_a_refused_upload_of_20_mb_is_answered_20_times_of_20() -> None:
    big = b"\0" * 20_000_000
    with (
        running_service(model="scripted", max_file_bytes=1_000_000) as small,
        httpx.Client(base_url=small.base_url, headers={"x-api-key": small.api_key}, timeout=60) as http,
    ):
        payload = {"payload": json.dumps({"message": "say x"})}
        for _ in range(20):
            answer = http.post("/api/developers/v1/runs", data=payload, files=[("files", ("big.bin", big))])
            assert (answer.status_code, code(answer)) == (413, "attachment_too_large")
            assert answer.headers["connection"] == "close"
        with AgentService(small.api_key, small.base_url) as client:
            for _ in range(20):
                with pytest.raises(RequestTooLargeError):
                    client.runs.start("say x", files=[("big.bin", big)])
        assert asyncio.run(refusals(small, big)) == ["attachment_too_large"] * 20
        # One file at its byte, in a request that is small enough:
        over = [("files", ("over.bin", b"\0" * 1_000_001))]
        assert code(http.post("/api/developers/v1/runs", data=payload, files=over)) == "attachment_too_large"
        assert code(http.post("/api/developers/v1/files", files=over)) == "file_too_large"
        assert http.post("/api/developers/v1/files", files=[("files", ("ok", b"\0" * 1_000_000))]).status_code == 200
        assert list(incoming(small).iterdir()) == []


def test_at_most_50_results_with_two_snippets_each(wire: Wire) -> None:
    words = "needle in the first place, " + "and so on " * 60 + "needle again, " + "and so on " * 60 + "needle"
    chat = wire.finish("\n".join(f"write {number:02}.txt {words}" for number in range(60)))["chat"]
    results = found(wire, chat, "needle")
    assert len(results) == 50
    assert {len(result["snippets"]) for result in results} == {2}


def test_an_earlier_name_of_a_renamed_file_finds_it_too(wire: Wire) -> None:
    chat = wire.new_chat()
    put(wire, chat, first__txt=b"words")
    params = {"chat_id": chat, "path": "uploads/first.txt"}
    wire("PATCH", "/files", params=params, json={"name": "Second"})
    assert [result["match"] for result in found(wire, chat, "first")] == ["name"]
    assert wire("PATCH", "/files", params=params, json={"name": ""}).json()["name"] is None
    assert code(wire("PATCH", "/files", params=params, json={})) == "invalid_json"
