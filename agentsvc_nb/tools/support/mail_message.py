"""A mail as the bytes for the mail server. Every text is taken literally: an encoded word in it adds no header."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from email.charset import QP, Charset
from email.encoders import encode_base64
from email.header import Header
from email.mime.base import MIMEBase
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from email.policy import compat32
from email.utils import format_datetime
from typing import Final

from agentsvc_nb import clock
from agentsvc_nb.tools.port import WorkFailure

_PLAIN: Final = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_MEDIA_TYPE: Final = re.compile(r"(?!(?:message|multipart)/)([\w.+-]+)/([\w.+-]+)", re.ASCII)
"""Types that hold messages are excluded: they may not be encoded in base64, as files are."""
_BREAK: Final = re.compile("\r\n|\r|\n")
# The header classes of the newer policies decode an encoded word (`=?utf-8?q?...?=`) in a given text, by which a
# subject could add headers.
_POLICY: Final = compat32.clone(linesep="\r\n", mangle_from_=False)


@dataclass(frozen=True, slots=True)
class Attachment:
    name: str
    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail to be sent; `message_id` includes its angle brackets."""

    sender: str
    recipients: Sequence[str]
    subject: str
    text: str
    message_id: str
    html: str | None = None
    attachments: Sequence[Attachment] = ()


def written(mail: Mail) -> bytes:
    """Return the message's bytes. Raises `WorkFailure("invalid_tool_input")` for a name that breaks a line."""
    message: MIMEBase = _text("plain", mail.text)
    boundary = f"=_{mail.message_id[1:33]}"  # `=_` cannot occur in an encoded body
    if mail.html is not None:
        message = MIMEMultipart("alternative", f"{boundary}_texts", [message, _text("html", mail.html)])
    if mail.attachments:
        message = MIMEMultipart("mixed", f"{boundary}_parts", [message, *map(_attached, mail.attachments)])
    message["From"] = mail.sender
    message["To"] = ", ".join(mail.recipients)
    message["Subject"] = _literal(mail.subject)  # type: ignore[assignment]  # a `Header` is folded at its words
    message["Date"] = format_datetime(clock.now())
    message["Message-ID"] = mail.message_id
    return message.as_bytes(policy=_POLICY)


def _literal(text: str) -> str | Header:
    """Return a text as the value of a header. A text that looks like an encoded word is encoded itself."""
    return text if _PLAIN.fullmatch(text) and "=?" not in text else Header(text, "utf-8")


def _text(subtype: str, text: str) -> MIMEText:
    charset = Charset("utf-8")
    charset.body_encoding = QP
    part = MIMEText("", subtype)
    del part["Content-Transfer-Encoding"]
    part.set_payload(_BREAK.sub("\n", text), charset)
    return part


def _attached(file: Attachment) -> MIMEBase:
    if _BREAK.search(file.name):
        raise WorkFailure("invalid_tool_input", f"attachments: the name of {file.name!r} has a line break.")
    kind = _MEDIA_TYPE.fullmatch(file.media_type)
    part = MIMEBase(*(kind.groups() if kind else ("application", "octet-stream")))
    part.set_payload(file.data)
    encode_base64(part)
    part.add_header("Content-Disposition", "attachment", filename=("utf-8", "", file.name))
    return part
