"""`send_email`: a file by default; to a real mail server when it is allowed, and to nobody else."""

from __future__ import annotations

import email
import email.policy
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from agentsvc_nb.tools.port import Outcome
from agentsvc_nb.tools.send_email import SendEmailInput
from tests.unit.service.agents_harness import MemoryToolContext
from tests.unit.service.tooling import call, made, task
from tests.unit.tools.mailbox import Box, mail_server

MAIL = {"to": ["ana@example.com"], "subject": "Prüfung", "text": "Hello\n.\nAna"}


@pytest.fixture
def box() -> Iterator[tuple[Box, str]]:
    with mail_server() as (held, address):
        yield held, address.replace("//", "//ads:s3%3Acret@")


def send(folder: Path, at: MemoryToolContext | None = None, server: str = "", **given: Any) -> Outcome:
    settings = {"smtp_url": server, "mail_from": "ads@shop.example", "mail_recipients": "@example.com,bo@other.example"}
    tool = made(folder, "send_email", **(settings if server else {}))
    return call(tool, at or task(folder), **{**MAIL, **given})


def read(at: MemoryToolContext, outcome: Outcome) -> EmailMessage:
    assert outcome.data is not None
    message = email.message_from_bytes(at.files.bytes(outcome.data["path"]), policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    return message


def test_by_default_it_is_written_and_not_sent(box: tuple[Box, str], tmp_path: Path) -> None:
    at = task(tmp_path, {"plan.csv": "a,b\n1,2\n"})
    outcome = send(tmp_path, at, box[1], html="<p>Hello</p>", attachments=["plan.csv"])
    assert outcome.data is not None
    assert (outcome.data["sent"], box[0].taken) == (False, [])
    message = read(at, outcome)
    assert (message["Subject"], message["To"], message["From"]) == ("Prüfung", "ana@example.com", "ads@shop.example")
    body = message.get_body(("plain",))
    assert body is not None
    assert body.get_content().splitlines() == ["Hello", ".", "Ana"]
    assert [part.get_filename() for part in message.iter_attachments()] == ["plan.csv"]


def test_a_dry_run_needs_no_settings(tmp_path: Path) -> None:
    outcome = send(tmp_path)
    assert outcome.error is None
    assert "dry run" in outcome.content[0]["text"]


def test_it_is_sent_once_to_those_who_are_allowed(box: tuple[Box, str], tmp_path: Path) -> None:
    at = task(tmp_path)
    outcome = send(tmp_path, at, box[1], dry_run=False, to=["ana@example.com", "BO@other.example", "ana@example.com"])
    assert outcome.data is not None
    (taken,) = box[0].taken
    assert (taken.mail_from, taken.rcpt_tos) == ("ads@shop.example", ["ana@example.com", "BO@other.example"])
    assert isinstance(taken.content, bytes)
    assert email.message_from_bytes(taken.content)["Message-ID"] == outcome.data["message_id"]
    assert read(at, outcome)["Message-ID"] == outcome.data["message_id"]


def test_the_id_is_the_calls(box: tuple[Box, str], tmp_path: Path) -> None:
    calls = [task(tmp_path), task(tmp_path)]
    outcomes = [send(tmp_path, at, box[1], dry_run=False) for at in (calls[0], calls[0], calls[1])]
    first, again, other = [outcome.data["message_id"] for outcome in outcomes if outcome.data]
    assert first == again != other


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize("to", ["eve@evil.example", "ana@example.com.evil.example", "bo@example.org"])
def test_who_is_not_allowed_gets_nothing(to: str, dry_run: bool, box: tuple[Box, str], tmp_path: Path) -> None:
    outcome = send(tmp_path, None, box[1], to=["ana@example.com", to], dry_run=dry_run)
    assert outcome.error is not None
    assert (outcome.error[0], box[0].taken) == ("recipient_refused", [])
    assert to in outcome.error[1]


def test_without_settings_it_says_which(tmp_path: Path) -> None:
    outcome = send(tmp_path, dry_run=False)
    assert outcome.error is not None
    assert outcome.error[0] == "not_configured"
    assert "AGENTSVC_SMTP_URL, AGENTSVC_MAIL_FROM, AGENTSVC_MAIL_RECIPIENTS" in outcome.error[1]


def test_some_recipients_may_be_refused_by_the_server(box: tuple[Box, str], tmp_path: Path) -> None:
    outcome = send(tmp_path, None, box[1], dry_run=False, to=["ana@example.com", "nobody@example.com"])
    assert outcome.data is not None
    assert (outcome.data["refused"], len(box[0].taken)) == (["nobody@example.com"], 1)


def test_what_goes_wrong_is_said_without_the_password(box: tuple[Box, str], tmp_path: Path) -> None:
    held, server = box
    wrong = server.replace("s3%3Acret", "s3cr3t-wrong")
    said = [_error(send(tmp_path, None, wrong, dry_run=False))]
    said.append(_error(send(tmp_path, None, server, dry_run=False, to=["nobody@example.com"])))
    held.full = True
    said.append(_error(send(tmp_path, None, server, dry_run=False)))
    said.append(_error(send(tmp_path, None, "smtp://u:hidden-one@127.0.0.1:1", dry_run=False)))
    assert said[0].startswith("The mail server ")
    assert "takes none of: nobody@example.com" in said[1]
    assert "452 the box is full" in said[2]
    assert "can't be reached" in said[3]
    assert not any("wrong" in one or "hidden" in one for one in said)


def test_a_mail_that_may_be_out_is_not_called_unsent(box: tuple[Box, str], tmp_path: Path) -> None:
    held, server = box
    held.vanishes = True
    outcome = send(tmp_path, None, server, dry_run=False)
    assert outcome.error is not None
    assert (outcome.error[0], len(held.taken)) == ("outcome_unknown", 1)


def test_a_mail_that_was_taken_is_sent_however_the_server_parts(box: tuple[Box, str], tmp_path: Path) -> None:
    box[0].parting = "421 going down"
    outcome = send(tmp_path, None, box[1], dry_run=False)
    assert outcome.error is None
    assert outcome.data is not None
    assert outcome.data["sent"] is True


def _error(outcome: Outcome) -> str:
    assert outcome.error is not None
    assert outcome.error[0] == "upstream_failed"
    return outcome.error[1]


@pytest.mark.parametrize(
    "given",
    [
        {"to": []}, {"to": ["ana"]}, {"to": ["a@b.c\nBcc: eve@evil.example"]}, {"to": ["Ana <ana@example.com>"]},
        {"subject": ""}, {"subject": "a\r\nBcc: eve@evil.example"}, {"text": " "}, {"text": None},
        {"attachments": ["a"] * 11},
    ],
)  # fmt: skip
def test_bad_input_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SendEmailInput.model_validate({**MAIL, **given})


def test_an_attachment_that_is_not_there_or_too_large_is_said(tmp_path: Path) -> None:
    at = task(tmp_path, {"big.bin": bytes(20_000_001), "half.bin": bytes(10_000_001)})
    for paths, said in (
        (["gone.txt"], "no file 'gone.txt'"),
        (["big.bin"], "more than"),
        (["half.bin"] * 2, "they have"),
    ):
        outcome = send(tmp_path, at, attachments=paths)
        assert outcome.error is not None
        assert outcome.error[0] == "invalid_tool_input"
        assert said in outcome.error[1]
