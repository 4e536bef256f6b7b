"""Define `send_email`, a tool that writes a mail into the workspace and, on request, sends it to allowed recipients."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import ipaddress
import re
import smtplib
import ssl
from email.contentmanager import raw_data_manager
from email.header import Header
from email.message import EmailMessage
from email.policy import compat32
from email.utils import format_datetime
from pathlib import PurePosixPath
from typing import Annotated, Any, ClassVar, Final
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, Field, StringConstraints

from agentsvc_nb import clock
from agentsvc_nb.settings import variable
from agentsvc_nb.tools.port import (
    BaseTool,
    Filled,
    Outcome,
    ToolContext,
    WorkFailure,
    WorkspacePath,
)
from agentsvc_nb.wire.limits import MB

RECIPIENTS_MAX: Final = 50
TEXT_CHARS: Final = 200_000
ATTACHMENTS_MAX: Final = 10
ADDRESS_CHARS: Final = 254
_CONTROL: Final = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
"""Control characters (including tabs) and line separators, for use within `[...]` in a regular expression."""


Address = Annotated[
    str,
    # Only ASCII without "?", because mail programs would decode an encoded word (=?utf-8?q?...?=) into another address.
    StringConstraints(
        pattern=r"^[A-Za-z0-9!#$%&'*+/=^_`{|}~.-]+@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$",
        max_length=ADDRESS_CHARS,
    ),
]
Subject = Annotated[str, StringConstraints(pattern=rf"^[^{_CONTROL}]*[^\s{_CONTROL}][^{_CONTROL}]*$", max_length=250)]


class SendEmailInput(BaseModel):
    to: list[Address] = Field(min_length=1, max_length=RECIPIENTS_MAX, description="The recipients.")
    subject: Subject = Field(description="The subject, in one line.")
    text: Annotated[Filled, StringConstraints(max_length=TEXT_CHARS)] = Field(description="The message, as plain text.")
    html: Annotated[str, StringConstraints(max_length=TEXT_CHARS)] | None = Field(
        default=None, description="The message as HTML, for mail programs that show it."
    )
    attachments: list[WorkspacePath] = Field(
        default_factory=list, max_length=ATTACHMENTS_MAX, description="Paths of files in the workspace."
    )
    dry_run: bool = Field(
        default=True, description="If true, the message is only written into the workspace, as an .eml file."
    )


class SentEmail(BaseModel):
    sent: bool = Field(description="Whether a mail server accepted the message.")
    message_id: str = Field(description="Derived from the call, so that receivers recognise a repeated message.")
    path: str = Field(description="The message as a file in the workspace.")
    recipients: list[str]
    refused: list[str] = Field(description="Recipients that the mail server refused.")


ATTACHED_BYTES: Final = 20 * MB
NOBODY: Final = "agent@localhost.invalid"


class SendEmail(BaseTool):
    """Writes the .eml file before sending, so that the workspace contains every sent message."""

    name: ClassVar[str] = "send_email"
    description: ClassVar[str] = (
        "Writes an e-mail into the workspace as an .eml file. If `dry_run` is false, also sends it, to allowed "
        "recipients."
    )
    group: ClassVar[str] = "mail"
    effect: ClassVar[bool] = True
    settings_used: ClassVar[tuple[str, ...]] = ("smtp_url", "mail_from", "mail_recipients")
    requirements: ClassVar[str] = "A dry run, which is the default, needs no setting. Sending needs all three settings."
    Input: ClassVar[type[BaseModel]] = SendEmailInput
    Output: ClassVar[type[BaseModel] | None] = SentEmail

    async def run(self, given: SendEmailInput, context: ToolContext) -> Outcome:
        recipients, server = list(dict.fromkeys(given.to)), self.services.settings.smtp_url
        self._check(recipients, given.dry_run)
        sender = self.services.settings.mail_from or NOBODY
        # Each call has its own id, which stays the same if the call is repeated after a crash.
        message_id = f"<{hashlib.sha256(context.key.encode()).hexdigest()[:32]}@{sender.rpartition('@')[2]}>"
        message = EmailMessage(_POLICY)
        message["From"] = sender
        message["To"] = ", ".join(recipients)
        message["Subject"] = _encode_header(given.subject)
        message["Date"] = format_datetime(clock.now())
        message["Message-ID"] = message_id
        message.set_content(given.text, **_TEXT)
        if given.html is not None:
            message.add_alternative(given.html, subtype="html", **_TEXT)
        await _attach(message, given.attachments, context)
        data = await asyncio.to_thread(message.as_bytes)
        path = f"mail/{message_id[1:17]}.eml"
        await context.write(path, data)
        refused: list[str] = []
        if not given.dry_run:
            assert server is not None
            refused = await asyncio.to_thread(deliver, server, data, sender, recipients)
        found = SentEmail(
            sent=not given.dry_run, message_id=message_id, path=path, recipients=recipients, refused=refused
        )
        to = ", ".join(recipients)
        said = f"Sent to {to}." if found.sent else f"Not sent (dry run): the message to {to} is {path}."
        said += f" Refused: {', '.join(refused)}." if refused else ""
        return Outcome(content=[{"type": "text", "text": said}], data=found.model_dump())

    def _check(self, recipients: list[str], dry_run: bool) -> None:
        """Check that all recipients are allowed and, unless `dry_run`, that no setting is missing.

        Raises `WorkFailure` (`recipient_refused`, `not_configured`).
        """
        settings = self.services.settings
        missing = [variable(name) for name in self.settings_used if not getattr(settings, name)]
        if missing and not dry_run:
            raise WorkFailure("not_configured", f"Nothing was sent. To send mail, set {', '.join(missing)}.")
        allowed = settings.mail_recipients
        plain = {one: (one.lower(), f"@{one.lower().rpartition('@')[2]}") for one in recipients}
        strangers = [one for one in recipients if allowed and not set(allowed).intersection(plain[one])]
        if strangers:
            said = f"Nothing was sent. Not allowed: {', '.join(strangers)}. The operator can allow recipients"
            raise WorkFailure("recipient_refused", f"{said} with {variable('mail_recipients')}.")


# ---- the message -----------------------------------------------------------------------------------------------------

# This policy takes every text literally. Newer policies decode encoded words (`=?utf-8?q?...?=`), so that a subject
# could add headers.
_POLICY: Final = compat32.clone(linesep="\r\n", mangle_from_=False)
_TEXT: Final[dict[str, Any]] = {"cte": "quoted-printable", "content_manager": raw_data_manager}
_PLAIN: Final = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_MEDIA_TYPE: Final = re.compile(r"(?!(?:message|multipart)/)([\w.+-]+)/([\w.+-]+)", re.ASCII)
"""Matches a media type, except types of messages, which must not be encoded in base64 as attachments are."""


def _encode_header(text: str) -> str | Header:
    """Return a text as a header value. Encode it if it is not plain ASCII, or looks as if it were encoded."""
    return text if _PLAIN.fullmatch(text) and "=?" not in text else Header(text, "utf-8")


async def _attach(message: EmailMessage, paths: list[str], context: ToolContext) -> None:
    """Attach files of the workspace to a message. Raises `WorkFailure("invalid_tool_input")`."""
    entries, total = {entry.path: entry for entry in await context.workspace.list()}, 0
    for path in paths:
        if (entry := entries.get(path)) is None:
            raise WorkFailure("invalid_tool_input", f"attachments: the chat has no file {path[:200]!r}.")
        name, kind = PurePosixPath(path).name, _MEDIA_TYPE.fullmatch(entry.media_type)
        if re.search(r"[\r\n]", name):
            raise WorkFailure("invalid_tool_input", f"attachments: the name of {name!r} has a line break.")
        total += entry.size_bytes
        if total > ATTACHED_BYTES:
            said = f"attachments: with {path[:200]!r}, the total is more than {ATTACHED_BYTES:,} bytes."
            raise WorkFailure("invalid_tool_input", said)
        async with context.workspace.open(path) as file:
            data = await asyncio.to_thread(file.read_bytes)
        main, sub = kind.groups() if kind else ("application", "octet-stream")
        named: Any = ("utf-8", "", name)  # this form, of RFC 2231, allows any name
        message.add_attachment(data, main, sub, filename=named, content_manager=raw_data_manager)


# ---- the mail server -------------------------------------------------------------------------------------------------

SECONDS: Final = 30.0
_PORTS: Final = {"smtp": 587, "smtps": 465}
_LOST: Final = (
    "The connection to the mail server broke while the message was sent. The message may have been sent. It "
    "was not sent again."
)


class _SmtpConnection(smtplib.SMTP):
    """A connection to a mail server. `handing_over` is True once the sending of a message has begun.

    If the connection breaks after that, it is unknown whether the server accepted the message.
    """

    handing_over = False

    def data(self, msg: Any) -> tuple[int, bytes]:
        self.handing_over = True
        return super().data(msg)


class _SmtpsConnection(_SmtpConnection, smtplib.SMTP_SSL):
    """A connection that uses TLS from the start."""


def deliver(server: str, message: bytes, sender: str, recipients: list[str]) -> list[str]:
    """Send a message through `smtp://` (encrypted if the server supports that) or `smtps://`. Return the refused
    recipients.

    This blocks, so call it in a thread. Raises `WorkFailure`: `upstream_failed` if the message was not sent to anybody,
    `outcome_unknown` if the server may have accepted the message.
    """
    parts = urlsplit(server)
    host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    smtp: _SmtpConnection | None = None
    try:
        if parts.scheme == "smtps":
            smtp = _SmtpsConnection(host, port, timeout=SECONDS, context=ssl.create_default_context())
        else:
            smtp = _SmtpConnection(host, port, timeout=SECONDS)
        _log_in(smtp, host, parts.username, parts.password)
        return sorted(smtp.sendmail(sender, recipients, message))
    except smtplib.SMTPRecipientsRefused as error:
        said = f"refused all recipients: {', '.join(error.recipients)}"
    except smtplib.SMTPResponseException as error:
        text = f" {bytes(error.smtp_error).decode(errors='replace')}" if isinstance(error.smtp_error, bytes) else ""
        said = f"answered {error.smtp_code}{text[:200]}"
    except (OSError, smtplib.SMTPException) as error:
        if smtp is not None and smtp.handing_over:
            raise WorkFailure("outcome_unknown", _LOST) from None
        said = f"could not be reached, or closed the connection ({type(error).__name__})"
    finally:
        if smtp is not None:
            with contextlib.suppress(OSError, smtplib.SMTPException):  # errors at this point do not affect the message
                smtp.quit()
            smtp.close()
    raise WorkFailure("upstream_failed", f"The mail server {said}.")


def _log_in(smtp: smtplib.SMTP, host: str, name: str | None, password: str | None) -> None:
    """Turn on encryption if possible, and log in. A password is sent unencrypted only to this machine."""
    smtp.ehlo_or_helo_if_needed()
    is_safe = isinstance(smtp, smtplib.SMTP_SSL) or _is_this_machine(host)
    if not isinstance(smtp, smtplib.SMTP_SSL) and smtp.has_extn("starttls"):
        smtp.starttls(context=ssl.create_default_context())
        smtp.ehlo()
        is_safe = True
    if name is not None:
        if not is_safe:
            raise WorkFailure(
                "upstream_failed", "Nothing was sent: the mail server offers no encryption, which a password requires."
            )
        smtp.login(unquote(name), unquote(password or ""))


def _is_this_machine(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"
