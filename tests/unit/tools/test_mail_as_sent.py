"""What is approved is what is sent: the bytes that a real mail server took, read by two parsers, hold nothing else."""

from __future__ import annotations

import email
import email.policy
import re
import tempfile
from collections.abc import Iterator
from email.header import decode_header, make_header
from email.message import Message
from email.utils import collapse_rfc2231_value
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from agentsvc_nb.tools.port import Outcome, WorkFailure
from agentsvc_nb.tools.send_email import SendEmailInput
from agentsvc_nb.tools.support import mail_message
from tests.unit.service.tooling import call, made, task
from tests.unit.tools.mailbox import Box, mail_server

MAIL: Final = {"to": ["ana@example.com"], "subject": "Hello", "text": "Hello.", "dry_run": False}
TOP: Final = ["from", "to", "subject", "date", "message-id", "mime-version", "content-type"]
ENCODED: Final = (
    "=?utf-8?q?a=0d=0aReply-To:_eve@evil.example?=",
    "=?utf-8?b?YQ0KQmNjOiBldmVAZXZpbC5leGFtcGxlDQoNCmJvZHk=?=",
    "=?us-ascii?q?=0aX-Evil:_1=0a=0a<script>?=",
    "=?utf-16?b?CgAK?=",
    "=?iso-2022-jp?b?GyRCDQo=?=",
    "=?utf-8*en?Q?caf=C3=A9?=",
    "=?no-such?q?x?=",
    "=?utf-8?q?unended",
    "?=",
)


@pytest.fixture(scope="module")
def box() -> Iterator[tuple[Box, str]]:
    with mail_server() as (held, address):
        yield held, address


def send(box: tuple[Box, str], files: dict[str, str | bytes] | None = None, **changed: Any) -> Outcome:
    """Send through the real server, from an empty box."""
    box[0].taken.clear()
    with tempfile.TemporaryDirectory() as folder:
        configured = {"smtp_url": box[1], "mail_from": "ads@shop.example", "mail_recipients": "@example.com"}
        tool = made(Path(folder), "send_email", **configured)
        return call(tool, task(Path(folder), files), **{**MAIL, **changed})


def lines(text: str) -> list[str]:
    return re.split("\r\n|\r|\n", text.removesuffix("\n").removesuffix("\r"))


def received(box: tuple[Box, str]) -> bytes:
    (taken,) = box[0].taken
    assert isinstance(taken.content, bytes)
    return taken.content


def check(raw: bytes, sent: dict[str, Any], names: list[str]) -> None:
    """The message is `sent` and nothing else, to the old parser and to the new one."""
    assert not re.search(rb"\r(?!\n)|(?<!\r)\n|\0", raw), "a line ends otherwise than mail's lines do"
    head = raw.partition(b"\r\n\r\n")[0]
    assert max(map(len, head.split(b"\r\n"))) < 998
    new = email.message_from_bytes(raw, policy=email.policy.default)
    old = email.message_from_bytes(raw, policy=email.policy.compat32)
    for message in (new, old):
        headers = [name.lower() for name, _ in message.items()]
        assert headers in (TOP, [*TOP, "content-transfer-encoding"])
        parts = [part for part in message.walk() if not part.is_multipart()]
        for part in parts if len(parts) > 1 else []:
            assert [name.lower() for name, _ in part.items()] in (
                ["content-type", "content-transfer-encoding"],
                ["content-type", "content-transfer-encoding", "content-disposition"],
            )
        text, *attached = parts
        payload = text.get_payload(decode=True)
        assert isinstance(payload, bytes)
        assert lines(payload.decode()) == lines(sent["text"])
        assert [name_of(part) for part in attached] == names
    assert str(new["subject"]) == str(make_header(decode_header(old["subject"]))) == sent["subject"]
    assert new["to"].addresses[0].addr_spec == old["to"] == sent["to"][0]
    assert new["from"] == old["from"] == "ads@shop.example"


def name_of(part: Message) -> str:
    """As both parsers have it, without what they do to encoded words in it."""
    return collapse_rfc2231_value(part.get_param("filename", header="content-disposition"))  # type: ignore[arg-type]


@pytest.mark.parametrize("word", ENCODED)
def test_an_encoded_word_of_a_subject_is_text(word: str, box: tuple[Box, str]) -> None:
    for subject in (word, f"Hello {word} there", f"ä {word}"):
        assert send(box, subject=subject).error is None
        check(received(box), MAIL | {"subject": subject}, [])


@pytest.mark.parametrize("word", ENCODED)
def test_an_encoded_word_of_an_attachments_name_is_text(word: str, box: tuple[Box, str]) -> None:
    names = [f"{word}.txt".replace("/", "_"), f"a {word} ü.csv".replace("/", "_")]
    assert send(box, {f"in/{name}": "x" for name in names}, attachments=[f"in/{name}" for name in names]).error is None
    check(received(box), MAIL, names)


@pytest.mark.parametrize("word", ENCODED[:3])
def test_an_encoded_word_in_an_address_is_refused(word: str) -> None:
    with pytest.raises(ValidationError, match=r"=\?"):
        SendEmailInput.model_validate({**MAIL, "to": [f"{word.replace(':', '').replace('@', '=40')}@example.com"]})


@pytest.mark.parametrize("mark", ["\r", "\n", "\0", "\x0b", "\x85", "\u2028", "\u2029", "\x1b", "\ud800"])
def test_what_breaks_a_line_is_no_part_of_a_subject_or_an_address(mark: str) -> None:
    for wrong in ({"subject": f"a{mark}Bcc: eve@evil.example"}, {"to": [f"a{mark}b@example.com"]}):
        with pytest.raises(ValidationError):
            SendEmailInput.model_validate({**MAIL, **wrong})


def test_a_name_with_a_line_break_is_refused_and_nothing_is_sent(box: tuple[Box, str]) -> None:
    outcome = send(box, {"a\r\nX-Evil: 1.txt": "x"}, attachments=["a\r\nX-Evil: 1.txt"])
    assert outcome.error is not None
    assert outcome.error[0] == "invalid_tool_input"
    assert "attachment" in outcome.error[1]
    assert box[0].taken == []


def test_text_and_html_arrive_as_they_are(box: tuple[Box, str]) -> None:
    text = "Line one\r\n.\nFrom me\r=?utf-8?q?x?= = equals \nÄ\u2028é " + "long " * 400 + "\0end \n\n"
    html = "<p>=?utf-8?q?x?=</p>\n" + "<b>日本</b>" * 500
    data = bytes(range(256)) * 40
    sent = {"text": text, "html": html, "attachments": ["a.bin", "letter.eml"]}
    assert send(box, {"a.bin": data, "letter.eml": "Subject: x\n\nHello"}, **sent).error is None
    raw = received(box)
    message = email.message_from_bytes(raw, policy=email.policy.compat32)
    plain, formatted, *attached = [part.get_payload(decode=True) for part in message.walk() if not part.is_multipart()]
    assert isinstance(plain, bytes)
    assert isinstance(formatted, bytes)
    assert lines(plain.decode()) == lines(text)
    assert lines(formatted.decode()) == lines(html)
    assert attached == [data, b"Subject: x\n\nHello"]
    assert max(map(len, raw.split(b"\r\n"))) < 998


@pytest.mark.parametrize(
    ("of", "by"),
    [
        (b"Subject: Hello", b"Subject: Hello\r\nBcc: eve@evil.example"),
        (b"Subject: Hello", b"Subject: Hullo"),
        (b"Subject: Hello", b"Subject: =?utf-8?q?Hello=0d=0aBcc:?="),
        (b"To: ana@", b"To: eve@"),
        (b"To: ana@example.com", b"To: ana@example.com\r\nTo: eve@evil.example"),
        (b"\r\n\r\nHello.", b"\r\n\r\nHello!"),
        (b"\r\n\r\nHello.", b"\r\nX-Evil: 1\r\n\r\nHello."),
        (b"Subject: Hello\r\n", b"Subject: Hello\n"),
    ],
)
def test_a_message_that_reads_otherwise_is_not_sent(
    of: bytes, by: bytes, box: tuple[Box, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever assembles a message: what it made is read before it goes."""
    assembled = mail_message._assembled

    def spoiled(mail: mail_message.Mail) -> bytes:
        raw = assembled(mail)
        assert of in raw
        return raw.replace(of, by, 1)

    monkeypatch.setattr(mail_message, "_assembled", spoiled)
    outcome = send(box)
    assert outcome.error is not None
    assert outcome.error[0] == "invalid_tool_input"
    assert "nothing was sent" in outcome.error[1]
    assert box[0].taken == []


FRAGMENTS: Final = st.sampled_from(
    [*ENCODED, "\r\n ", "\r\n", "\r", "\n\t", "\0", "\u2028", "\x85", " ", "\t", ";", '"', "\\", "ä", "日本", "𝔸",
     "%0d%0a", "utf-8''", "*0*=", ":", ",", "<", ">", "@", "x" * 120, "\u200d", "Bcc: eve@evil.example"]
)  # fmt: skip
HOSTILE: Final = st.lists(FRAGMENTS | st.text(max_size=8), min_size=1, max_size=5).map("".join)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(subject=HOSTILE, name=HOSTILE, text=HOSTILE, local=HOSTILE)
def test_whatever_is_given_is_sent_as_it_is_or_not_at_all(
    box: tuple[Box, str], subject: str, name: str, text: str, local: str
) -> None:
    path = name.replace("/", "_").replace("\0", "")[:60] + ".txt"
    hostile = {"subject": subject, "text": text, "to": [f"{local}@example.com"], "attachments": [path]}
    box[0].taken.clear()
    for kept in ({}, {"to": ["ana@example.com"]}, {"to": ["ana@example.com"], "subject": "Hello"}):
        one = {**MAIL, **hostile, **kept}
        try:
            SendEmailInput.model_validate(one)
        except ValidationError:
            continue
        try:
            path.encode()
        except UnicodeEncodeError:
            continue
        outcome = send(box, {path: "x"}, **one)
        if outcome.error is None:
            check(received(box), one, [path])
        else:
            assert outcome.error[0] in ("invalid_tool_input", "upstream_failed"), outcome.error
            assert box[0].taken == []


def test_the_guard_raises_a_failure_of_the_tool() -> None:
    mail = mail_message.Mail("a@b.c", ["x@example.com"], "Hi\nBcc: e@evil.example", "text", "<1@b.c>")
    with pytest.raises(WorkFailure, match="nothing was sent"):
        mail_message.written(mail)
