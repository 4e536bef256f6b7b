"""Shapes and rules of files and search, one by one (docs/api/files.md)."""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final

import pytest

from tests.service.api.conftest import Wire, code
from tests.service.api.service_fixture import ServiceFixture, stop
from tests.support.waiting import until

WORDS: Final = b"the needle is here"
FACTS: Final[dict[str, type | tuple[type, ...]]] = {
    "object": str,
    "id": str,
    "path": str,
    "file_name": str,
    "name": (str, type(None)),
    "kind": str,
    "media_type": str,
    "size_bytes": int,
    "updated_at": str,
}


def put(wire: Wire, chat: str, name: str = "notes.md", content: bytes = WORDS) -> None:
    answer = wire("POST", "/files", params={"chat_id": chat}, files={"files": (name, content)})
    assert answer.status_code == 200, answer.text


def found(wire: Wire, chat: str, q: str) -> dict[str, Any]:
    document: dict[str, Any] = wire("GET", "/files/search", params={"chat_id": chat, "q": q}).json()
    return document


def check_facts(entry: dict[str, Any], constant: str) -> None:
    for name, kind in FACTS.items():
        assert isinstance(entry[name], kind), name
    assert entry["object"] == constant
    assert re.fullmatch(r"[0-9a-f]{64}", entry["id"])
    assert entry["kind"] in ("output", "upload")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", entry["updated_at"])


def test_a_search_result_has_the_fields_of_the_specification(wire: Wire) -> None:
    chat = wire.new_chat()
    put(wire, chat)
    answer = found(wire, chat, "needle")
    (result,) = answer["results"]
    assert (answer["object"], answer["chat"]) == ("workspace_file_search", chat)
    check_facts(result, "workspace_file_search_result")
    assert (result["match"], result["size_bytes"]) == ("content", len(WORDS))
    assert result["id"] == hashlib.sha256(WORDS).hexdigest()
    for part in (part for passage in result["snippets"] for part in passage):
        assert set(part) == {"text", "match"}
    assert "".join(part["text"] for part in result["snippets"][0] if part["match"]) == "needle"


def test_a_name_match_has_no_snippets(wire: Wire) -> None:
    chat = wire.new_chat()
    put(wire, chat, "needle.md")
    (result,) = found(wire, chat, "needle")["results"]
    assert (result["match"], result["snippets"]) == ("name", [])


def test_a_listing_entry_has_its_fields_and_the_ids_of_search(wire: Wire) -> None:
    chat = wire.new_chat()
    put(wire, chat)
    page = wire("GET", "/files", params={"chat_id": chat}).json()
    assert (page["object"], page["chat"], page["next_after"]) == ("list", chat, None)
    (entry,) = page["files"]
    check_facts(entry, "workspace_file")
    assert (entry["run_id"], entry["output"], entry["kind"]) == (None, None, "upload")
    assert entry["id"] == found(wire, chat, "needle")["results"][0]["id"]


def test_a_file_of_an_active_run_is_found_by_name_at_once_and_by_its_words_at_the_end(stage: ServiceFixture) -> None:
    run = stage.wire.start("write needle.txt haystack\nwait 600")
    until(lambda: found(stage.wire, run["chat"], "needle")["results"])
    stop(stage.wire, run)
    assert [result["match"] for result in found(stage.wire, run["chat"], "haystack")["results"]] == ["content"]


@pytest.mark.parametrize("q", ["x" * 200, "\N{SNOWMAN}" * 200, "a\0b", '"', "NEAR(a b)", "{x}:y", "*", "%"])
def test_any_query_of_1_to_200_characters_is_answered(wire: Wire, q: str) -> None:
    answer = wire("GET", "/files/search", params={"chat_id": wire.new_chat(), "q": q})
    assert (answer.status_code, answer.json()["results"]) == (200, [])


@pytest.mark.parametrize("given", [{"name": "x" * 201}, {"name": "two\nlines"}, {"name": 5}, {"name": None}, {}])
def test_a_wrong_name_is_refused_and_changes_nothing(wire: Wire, given: dict[str, object]) -> None:
    chat = wire.new_chat()
    put(wire, chat)
    look = {"chat_id": chat, "path": "uploads/notes.md"}
    answer = wire("PATCH", "/files", params=look, json=given)
    assert (answer.status_code, code(answer)) == (400, "invalid_json")
    assert wire("GET", "/files", params={"chat_id": chat}).json()["files"][0]["name"] is None


def test_a_name_survives_new_contents(wire: Wire) -> None:
    chat = wire.new_chat()
    put(wire, chat)
    wire("PATCH", "/files", params={"chat_id": chat, "path": "uploads/notes.md"}, json={"name": "Autumn"})
    put(wire, chat, content=b"other words")
    assert [entry["name"] for entry in wire("GET", "/files", params={"chat_id": chat}).json()["files"]] == ["Autumn"]


def test_a_page_after_the_last_path_is_empty(wire: Wire) -> None:
    chat = wire.new_chat()
    put(wire, chat)
    page = wire("GET", "/files", params={"chat_id": chat, "after": "zzz"}).json()
    assert (page["files"], page["next_after"]) == ([], None)
    for limit in ("0", "1001", "ten", ""):
        assert code(wire("GET", "/files", params={"chat_id": chat, "limit": limit})) == "invalid_query"


def test_an_upload_of_several_files_of_which_one_is_refused_stages_none(wire: Wire) -> None:
    chat = wire.new_chat()
    parts = [("files", ("good.txt", b"x")), ("files", ("voice.txt", b"RIFF\x24\0\0\0WAVEfmt " + bytes(16)))]
    answer = wire("POST", "/files", params={"chat_id": chat}, files=parts)
    assert code(answer) == "unsupported_attachment"
    assert wire("GET", "/files", params={"chat_id": chat}).json()["files"] == []
