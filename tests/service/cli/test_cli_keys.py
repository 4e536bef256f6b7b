"""`agentsvc keys` and `agentsvc account`, beside a running service: what they change counts at once
(docs/api/accounts.md)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from agentsvc_nb.cli import main
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.routes import ROUTES


@pytest.fixture(scope="module")
def own_service() -> Iterator[RunningService]:
    with running_service() as running:
        yield running


def agentsvc(service: RunningService, *words: str) -> int:
    return main([*words, "--data", str(service.data)])


def asked(service: RunningService, key: str) -> tuple[int, str]:
    """The status and code that a key gets."""
    answer = httpx.get(service.base_url + ROUTES["tools.list"].path, headers={"x-api-key": key})
    return answer.status_code, answer.json().get("error", {}).get("code", "")


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


def test_keys_are_listed_without_their_secrets(own_service: RunningService, capsys: pytest.CaptureFixture[str]) -> None:
    key = own_service.create_key("listed", scopes=("runs",), budget_cents=12)
    assert agentsvc(own_service, "keys", "list") == 0
    shown = capsys.readouterr().out
    [line] = [line for line in shown.splitlines() if '"listed"' in line]
    assert key[:12] in line
    assert line.endswith("runs  12 cents a month")
    assert key not in shown


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


def test_the_account_is_shown_with_its_money(own_service: RunningService, capsys: pytest.CaptureFixture[str]) -> None:
    assert agentsvc(own_service, "account", "throttle", "--minutes", "5") == 0
    assert agentsvc(own_service, "account", "resume") == 0
    shown = capsys.readouterr().out
    assert "state:  throttled until 20" in shown
    assert "state:  active\n" in shown
    assert "wallet: 0.00 cents billed (no limit" in shown


def test_a_key_may_be_made_before_the_service_first_starts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keys", "create", "--name", "early", "--data", str(tmp_path / "new")]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("svc_sk_")
    assert "No service has run" in said.err
