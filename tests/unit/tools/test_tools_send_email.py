"""`send_email`: a file by default; to a real mail server when it is allowed; and what is approved is what is sent: the
bytes that the server took, read by two parsers, hold nothing else."""

from __future__ import annotations

import email
import email.policy
import re
from collections.abc import Iterator
from email.header import decode_header, make_header
from email.message import EmailMessage, Message
from email.utils import collapse_rfc2231_value
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import ValidationError

from agentsvc_nb.tools.port import Outcome
from agentsvc_nb.tools.send_email import SendEmailInput
from tests.unit.service.agents_harness import MemoryToolContext
from tests.unit.service.tooling import call, made, task
from tests.unit.tools.mailbox import Box, mail_server

MAIL: Final = {"to": ["ana@example.com"], "subject": "Hello", "text": "Hello\n.\nAna", "dry_run": False}
HEADERS: Final = ["content-type", "date", "from", "message-id", "mime-version", "subject", "to"]
ENCODED: Final = (
    "=?utf-8?q?a=0d=0aReply-To:_eve@evil.example?=",
    "=?utf-8?b?YQ0KQmNjOiBldmVAZXZpbC5leGFtcGxlDQoNCmJvZHk=?=",
    "=?us-ascii?q?=0aX-Evil:_1=0a=0a<script>?=",
    "=?utf-8?q?unended",
    "?=",
)


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[Box, str]]:
    with mail_server() as (held, address):
        yield held, address.replace("//", "//ads:s3%3Acret@")


@pytest.fixture
def box(server: tuple[Box, str]) -> tuple[Box, str]:
    held, address = server
    held.taken.clear()
    held.full = held.vanishes = False
    return held, address


def send(folder: Path, server: str, at: MemoryToolContext | None = None, **given: Any) -> Outcome:
    configured = {
        "smtp_url": server,
        "mail_from": "ads@shop.example",
        "mail_recipients": "@example.com,bo@other.example",
    }
    tool = made(folder, "send_email", **(configured if server else {}))
    return call(tool, at or task(folder), **{**MAIL, **given})


def refusal(outcome: Outcome) -> tuple[str, str]:
    assert outcome.error is not None
    return outcome.error


def read(at: MemoryToolContext, outcome: Outcome) -> EmailMessage:
    assert outcome.data is not None
    message = email.message_from_bytes(at.files.bytes(outcome.data["path"]), policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    return message


@pytest.mark.rule("`send_email` writes a draft unless the caller asks to send it.")
def test_by_default_it_is_written_and_not_sent(box: tuple[Box, str], tmp_path: Path) -> None:
    at = task(tmp_path, {"plan.csv": "a,b\n1,2\n"})
    tool = made(tmp_path, "send_email", smtp_url=box[1], mail_from="ads@shop.example", mail_recipients="@example.com")
    given_ = {name: value for name, value in MAIL.items() if name != "dry_run"}
    outcome = call(tool, at, **given_, html="<p>Hello</p>", attachments=["plan.csv"])
    assert outcome.data is not None
    assert (outcome.data["sent"], box[0].taken) == (False, [])
    message = read(at, outcome)
    assert (message["Subject"], message["To"], message["From"]) == ("Hello", "ana@example.com", "ads@shop.example")
    assert [part.get_filename() for part in message.iter_attachments()] == ["plan.csv"]


def test_it_is_sent_once_to_those_who_are_allowed(box: tuple[Box, str], tmp_path: Path) -> None:
    at = task(tmp_path)
    outcome = send(tmp_path, box[1], at, to=["ana@example.com", "BO@other.example", "ana@example.com"])
    assert outcome.data is not None
    (taken,) = box[0].taken
    assert (taken.mail_from, taken.rcpt_tos) == ("ads@shop.example", ["ana@example.com", "BO@other.example"])
    assert box[0].ids() == [outcome.data["message_id"]] == [read(at, outcome)["Message-ID"]]


def test_the_id_is_the_calls(box: tuple[Box, str], tmp_path: Path) -> None:
    calls = [task(tmp_path), task(tmp_path)]
    outcomes = [send(tmp_path, box[1], at) for at in (calls[0], calls[0], calls[1])]
    first, again, other = [outcome.data["message_id"] for outcome in outcomes if outcome.data]
    assert first == again != other


@pytest.mark.rule("`send_email` sends to allowed recipients only.")
@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize("to", ["ana@example.com.evil.example", "bo@example.org"])
def test_who_is_not_allowed_gets_nothing(to: str, dry_run: bool, box: tuple[Box, str], tmp_path: Path) -> None:
    code, said = refusal(send(tmp_path, box[1], to=["ana@example.com", to], dry_run=dry_run))
    assert (code, box[0].taken) == ("recipient_refused", [])
    assert to in said


def test_what_goes_wrong_is_said_without_the_password(box: tuple[Box, str], tmp_path: Path) -> None:
    held, server = box
    wrong = refusal(send(tmp_path, server.replace("s3%3Acret", "s3cr3t-wrong")))
    nobody = refusal(send(tmp_path, server, to=["nobody@example.com"]))
    held.full = True
    full = refusal(send(tmp_path, server))
    away = refusal(send(tmp_path, "smtp://u:hidden-one@127.0.0.1:1"))
    assert {code for code, _ in (wrong, nobody, full, away)} == {"upstream_failed"}
    assert "nobody@example.com" in nobody[1]
    assert "452 the box is full" in full[1]
    assert not any("wrong" in said or "hidden" in said for _, said in (wrong, nobody, full, away))


def test_a_mail_that_may_be_out_is_not_called_unsent(box: tuple[Box, str], tmp_path: Path) -> None:
    held, server = box
    held.vanishes = True
    assert refusal(send(tmp_path, server))[0] == "outcome_unknown"
    assert len(held.taken) == 1


@pytest.mark.parametrize(
    ("files", "given", "said"),
    [
        ({}, ["gone.txt"], "gone.txt"),
        ({"big.bin": bytes(20_000_001)}, ["big.bin"], "more than"),
        ({"half.bin": bytes(10_000_001)}, ["half.bin"] * 2, "the total"),
        ({"a\r\nX-Evil: 1.txt": "x"}, ["a\r\nX-Evil: 1.txt"], "attachment"),
    ],
    ids=["gone", "large", "together", "line break"],
)
def test_an_attachment_that_can_not_be_sent_is_said(
    files: dict[str, str | bytes], given: list[str], said: str, box: tuple[Box, str], tmp_path: Path
) -> None:
    outcome = send(tmp_path, box[1], task(tmp_path, files), attachments=given)
    assert refusal(outcome)[0] == "invalid_tool_input"
    assert said in refusal(outcome)[1]
    assert box[0].taken == []


@pytest.mark.parametrize("mark", ["\r", "\n", "\0", "\x85", "\u2028", "\ud800"])
def test_what_breaks_a_line_is_no_part_of_a_subject_or_an_address(mark: str) -> None:
    for wrong in ({"subject": f"a{mark}Bcc: eve@evil.example"}, {"to": [f"a{mark}b@example.com"]}):
        with pytest.raises(ValidationError):
            SendEmailInput.model_validate({**MAIL, **wrong})


def lines(text: str) -> list[str]:
    return re.split("\r\n|\r|\n", text.removesuffix("\n").removesuffix("\r"))


@pytest.mark.parametrize("word", ENCODED)
def test_an_encoded_word_of_a_subject_or_an_attachments_name_is_text(
    word: str, box: tuple[Box, str], tmp_path: Path
) -> None:
    """The message has no other header, part or line, to the old parser and to the new one."""
    subject, name = f"ä {word} there", f"a {word} ü.csv".replace("/", "_")
    text = f"One\r\n.\n{word}\u2028\n" + "é" * 2_000
    at = task(tmp_path, {f"in/{name}": bytes(range(256))})
    assert send(tmp_path, box[1], at, subject=subject, text=text, attachments=[f"in/{name}"]).error is None
    (taken,) = box[0].taken
    assert isinstance(taken.content, bytes)
    assert not re.search(rb"\r(?!\n)|(?<!\r)\n|\0", taken.content), "a line ends otherwise than mail's lines do"
    assert max(map(len, taken.content.split(b"\r\n"))) < 998
    for policy in (email.policy.default, email.policy.compat32):
        message: Message = email.message_from_bytes(taken.content, policy=policy)
        assert sorted(header.lower() for header in message.keys()) == HEADERS  # noqa: SIM118
        plain, attached = [part for part in message.walk() if not part.is_multipart()]
        payload = plain.get_payload(decode=True)
        assert isinstance(payload, bytes)
        assert lines(payload.decode()) == lines(text)
        assert attached.get_payload(decode=True) == bytes(range(256))
        filename: Any = attached.get_param("filename", header="content-disposition")
        assert collapse_rfc2231_value(filename) == name
        encoded = policy is email.policy.compat32
        assert str(make_header(decode_header(message["subject"])) if encoded else message["subject"]) == subject
        assert (message["from"], message["to"]) == ("ads@shop.example", "ana@example.com")


@pytest.mark.parametrize("word", ENCODED[:3])
def test_an_encoded_word_in_an_address_is_refused(word: str) -> None:
    with pytest.raises(ValidationError, match=r"=\?"):
        SendEmailInput.model_validate({**MAIL, "to": [f"{word.replace(':', '').replace('@', '=40')}@example.com"]})
