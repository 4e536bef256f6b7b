"""`agentsvc keys` and `account`, which count at once, and `--json`: the record that a command changed, made or got."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentsvc_nb.cli import main
from agentsvc_nb.client.api import AgentService
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.routes import ROUTES

Parsed = Callable[..., Any]


@pytest.fixture
def parsed(own_service: RunningService, capsys: pytest.CaptureFixture[str]) -> Parsed:
    """The JSON that a command of the service prints."""

    def run(*words: object, data: Path = own_service.data) -> Any:
        assert main([*map(str, words), "--json", "--data", str(data)]) == 0
        return json.loads(capsys.readouterr().out)

    return run


def test_a_key_that_is_changed_is_shown_as_lists_show_it(own_service: RunningService, parsed: Parsed) -> None:
    secret = own_service.create_key("changed")
    for verb, status in (("suspend", "suspended"), ("resume", "active"), ("revoke", "revoked")):
        key = parsed("keys", verb, "changed")
        assert (key["name"], key["status"]) == ("changed", status)
        assert key in parsed("keys", "list")
    assert secret not in str(parsed("keys", "list"))


def test_files_that_are_got_are_told_with_their_places(
    own_service: RunningService, parsed: Parsed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with AgentService(own_service.api_key, own_service.base_url) as client:
        chat = client.runs.start("write a.txt one\nwrite b.txt two", sync=True).chat
    got = parsed("files", "get", "a.txt", "b.txt", "--chat", chat, "--to", tmp_path)
    assert [one["path"] for one in got] == ["a.txt", "b.txt"]
    assert [Path(one["place"]).read_text() for one in got] == ["one", "two"]
    both = ["files", "get", "a.txt", "--chat", str(chat), "--to", "-", "--json", "--data", str(own_service.data)]
    assert main(both) == 1
    said = capsys.readouterr()
    assert (said.out, "--json" in said.err) == ("", True)


@pytest.mark.sqlite("`agentsvc backup` and `restore` are of a folder's own database")
def test_a_backup_and_what_is_restored_are_told(parsed: Parsed, tmp_path: Path) -> None:
    made = parsed("backup", tmp_path / "all.tar")
    assert made.pop("file") == str(tmp_path / "all.tar")
    restored = parsed("restore", tmp_path / "all.tar", data=tmp_path / "again")
    assert restored.pop("data") == str(tmp_path / "again")
    assert restored == made
    assert made["missing"] == 0


def agentsvc(service: RunningService, *words: str) -> int:
    return main([*words, "--data", str(service.data)])


def asked(service: RunningService, key: str) -> tuple[int, str]:
    """The status and code that a key gets."""
    answer = httpx.get(service.base_url + ROUTES["tools.list"].path, headers={"x-api-key": key})
    return answer.status_code, answer.json().get("error", {}).get("code", "")


@pytest.mark.rule("A suspended key is a 403; a revoked key is the same 401 as an unknown one.")
def test_a_key_is_suspended_resumed_and_revoked(
    own_service: RunningService, capsys: pytest.CaptureFixture[str]
) -> None:
    key = own_service.create_key("Zoë's laptop")
    assert agentsvc(own_service, "keys", "suspend", "Zoë's laptop") == 0
    assert "is suspended" in capsys.readouterr().out
    assert asked(own_service, key) == (403, "key_suspended")
    assert agentsvc(own_service, "keys", "resume", "Zoë's laptop") == 0
    assert asked(own_service, key) == (200, "")
    assert agentsvc(own_service, "keys", "revoke", key[:12]) == 0
    assert asked(own_service, key) == (401, "unauthorized")
    assert asked(own_service, key) == asked(own_service, "svc_sk_never")
    assert agentsvc(own_service, "keys", "resume", "Zoë's laptop") == 1
    assert "No key has" in capsys.readouterr().err


def test_two_keys_of_one_name_are_told_apart_by_id(
    own_service: RunningService, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = (own_service.create_key("twin") for _ in range(2))
    assert agentsvc(own_service, "keys", "suspend", "twin") == 1
    said = capsys.readouterr().err
    ids = [word.rstrip(".,") for word in said.split() if word.startswith("key_")]
    assert len(ids) == 2
    for key_id in ids:
        assert agentsvc(own_service, "keys", "suspend", key_id) == 0
    assert asked(own_service, first) == asked(own_service, second) == (403, "key_suspended")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("suspend",), (429, "user_suspended")),
        (("throttle", "--minutes", "5"), (429, "user_throttled")),
        (("plan", "off"), (403, "plan_access_required")),
    ],
)
def test_an_account_is_barred_and_let_in_again(
    words: tuple[str, ...], expected: tuple[int, str], own_service: RunningService
) -> None:
    assert agentsvc(own_service, "account", *words) == 0
    assert asked(own_service, own_service.api_key) == expected
    assert agentsvc(own_service, "account", "resume") == 0
    assert agentsvc(own_service, "account", "plan", "on") == 0
    assert asked(own_service, own_service.api_key) == (200, "")
