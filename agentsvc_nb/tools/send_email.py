"""`send_email`: writes a mail into the workspace; sends it, if asked to, to recipients that the operator allows."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import smtplib
import ssl
from pathlib import PurePosixPath
from typing import Annotated, Any, ClassVar, Final
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from agentsvc_nb.settings import variable
from agentsvc_nb.tools.port import (
    BaseTool,
    Filled,
    Outcome,
    ToolContext,
    ToolInput,
    ToolOutput,
    ToolServices,
    WorkFailure,
    WorkspacePath,
)
from agentsvc_nb.tools.support.mail_message import Attachment, Mail, written
from agentsvc_nb.wire.limits import MB

RECIPIENTS_MAX: Final = 50
TEXT_CHARS: Final = 200_000
ATTACHMENTS_MAX: Final = 10
ADDRESS_CHARS: Final = 254
_CONTROL: Final = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
"""Control characters (tabs included) and the other line separators, for a regular expression's `[...]`."""


def _literal(address: str) -> str:
    """Return the address. Raises `ValueError` for one that a receiver would read differently."""
    if "=?" in address or not address.isascii():
        raise ValueError("give an address of ASCII characters, without =?, which begins an encoded word")
    return address


Address = Annotated[
    str,
    StringConstraints(
        pattern=rf"^[^@\s{_CONTROL}<>,;:\"()\[\]\\]+@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$",
        max_length=ADDRESS_CHARS,
    ),
    AfterValidator(_literal),
]
Subject = Annotated[str, StringConstraints(pattern=rf"^[^{_CONTROL}]*[^\s{_CONTROL}][^{_CONTROL}]*$", max_length=250)]


class SendEmailInput(ToolInput):
    to: list[Address] = Field(min_length=1, max_length=RECIPIENTS_MAX, description="Who gets it.")
    subject: Subject = Field(description="One line.")
    text: Annotated[Filled, StringConstraints(max_length=TEXT_CHARS)] = Field(description="The message, as plain text.")
    html: Annotated[str, StringConstraints(max_length=TEXT_CHARS)] | None = Field(
        default=None, description="The same as HTML, for readers that show it."
    )
    attachments: list[WorkspacePath] = Field(
        default_factory=list, max_length=ATTACHMENTS_MAX, description="Paths of files in the workspace."
    )
    dry_run: bool = Field(
        default=True, description="True: the message is only written into the workspace, as an .eml file."
    )


class SentEmail(ToolOutput):
    sent: bool = Field(description="Whether a mail server took it.")
    message_id: str = Field(description="Made from the call: receivers would know a repetition of it.")
    path: str = Field(description="The message as a file in the workspace.")
    recipients: list[str]
    refused: list[str] = Field(description="Recipients that the mail server did not take.")


SECONDS: Final = 30.0
_PORTS: Final = {"smtp": 587, "smtps": 465}


LOST: Final = (
    "The connection to the mail server was lost while the message was handed over. Whether it was taken is not known; "
    "it was not sent again."
)


def deliver(server: str, message: bytes, sender: str, recipients: list[str]) -> list[str]:
    """Send through `smtp://` (encrypted when the server can) or `smtps://`. Returns the recipients that were refused.

    Blocks, so call it in a thread. Raises `WorkFailure`: `upstream_failed` when no recipient gets the message, and
    `outcome_unknown` when the server may have taken it. A name and password are sent unencrypted only to this machine.
    """
    smtp: Plain | None = None
    try:
        smtp = _opened(server)
        return sorted(smtp.sendmail(sender, recipients, message))
    except smtplib.SMTPRecipientsRefused as error:
        raise WorkFailure("upstream_failed", f"The mail server takes none of: {', '.join(error.recipients)}.") from None
    except smtplib.SMTPResponseException as error:
        said = f" {bytes(error.smtp_error).decode(errors='replace')}" if isinstance(error.smtp_error, bytes) else ""
        raise WorkFailure("upstream_failed", f"The mail server answered {error.smtp_code}{said[:200]}.") from None
    except (OSError, smtplib.SMTPException) as error:
        if smtp is not None and smtp.handing_over:
            raise WorkFailure("outcome_unknown", LOST) from None
        raise WorkFailure(
            "upstream_failed", f"The mail server can't be reached, or hung up ({type(error).__name__})."
        ) from None
    finally:
        if smtp is not None:
            _leave(smtp)


class Plain(smtplib.SMTP):
    """An SMTP client that notes when it begins to hand over the message (`handing_over`): if the connection breaks
    after that, the server may have taken it."""

    handing_over = False

    def data(self, msg: Any) -> tuple[int, bytes]:
        self.handing_over = True
        return super().data(msg)


class Encrypted(Plain, smtplib.SMTP_SSL):
    """The same with TLS from the start."""


def _leave(smtp: smtplib.SMTP) -> None:
    """End the session and ignore errors: they change nothing about the message."""
    try:
        smtp.quit()
    except (OSError, smtplib.SMTPException):
        smtp.close()


def _opened(server: str) -> Plain:
    parts = urlsplit(server)
    host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    if parts.scheme == "smtps":
        smtp: Plain = Encrypted(host, port, timeout=SECONDS, context=ssl.create_default_context())
    else:
        smtp = Plain(host, port, timeout=SECONDS)
    try:
        _introduced(smtp, parts.scheme, host, parts.username, parts.password)
    except BaseException:
        smtp.close()
        raise
    return smtp


def _introduced(smtp: smtplib.SMTP, scheme: str, host: str, name: str | None, password: str | None) -> None:
    smtp.ehlo_or_helo_if_needed()
    encrypted = scheme == "smtps"
    if not encrypted and smtp.has_extn("starttls"):
        smtp.starttls(context=ssl.create_default_context())
        smtp.ehlo()
        encrypted = True
    if name is None:
        return
    if not encrypted and not _is_here(host):
        raise WorkFailure("upstream_failed", "The mail server offers no encryption: the password was not sent.")
    smtp.login(unquote(name), unquote(password or ""))


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


ATTACHED_BYTES: Final = 20 * MB
NOBODY: Final = "agent@localhost.invalid"


class SendEmail(BaseTool):
    """Writes the .eml file before sending, so that every message sent is also in the workspace."""

    name: ClassVar[str] = "send_email"
    description: ClassVar[str] = (
        "Writes an e-mail into the workspace as an .eml file, and sends it when `dry_run` is false, to recipients that "
        "are allowed."
    )
    family: ClassVar[str] = "send_email"
    group: ClassVar[str] = "mail"
    effect: ClassVar[bool] = True

    settings_used: ClassVar[tuple[str, ...]] = ("smtp_url", "mail_from", "mail_recipients")
    requirements: ClassVar[str] = "A dry run, which is the default, needs no setting; to send takes all three."

    Input: ClassVar[type[BaseModel]] = SendEmailInput
    Output: ClassVar[type[BaseModel] | None] = SentEmail

    def __init__(self, services: ToolServices) -> None:
        super().__init__(services)
        self._server = services.settings.smtp_url
        self._sender = services.settings.mail_from
        self._allowed = services.settings.mail_recipients

    async def run(self, given: SendEmailInput, context: ToolContext) -> Outcome:
        recipients = list(dict.fromkeys(given.to))
        self._check(recipients, given.dry_run)
        files = [await _attachment(context, path) for path in given.attachments]
        if sum(len(file.data) for file in files) > ATTACHED_BYTES:
            raise WorkFailure("invalid_tool_input", f"attachments: they have more than {ATTACHED_BYTES:,} bytes.")
        sender = self._sender or NOBODY
        mail = Mail(sender, recipients, given.subject, given.text, _message_id(context.key, sender), given.html, files)
        message = await asyncio.to_thread(written, mail)
        path = f"mail/{mail.message_id[1:17]}.eml"
        await context.write(path, message)
        refused: list[str] = []
        if not given.dry_run:
            assert self._server is not None
            refused = await asyncio.to_thread(deliver, self._server, message, sender, recipients)
        found = SentEmail(
            sent=not given.dry_run, message_id=mail.message_id, path=path, recipients=recipients, refused=refused
        )
        return Outcome(content=[{"type": "text", "text": _told(found)}], data=found.model_dump())

    def _check(self, recipients: list[str], dry_run: bool) -> None:
        """Raises `recipient_refused` for a recipient that is not allowed, `not_configured` without a mail server."""
        needed = {"smtp_url": self._server, "mail_from": self._sender, "mail_recipients": self._allowed}
        missing = [variable(name) for name, value in needed.items() if not value]
        if missing and not dry_run:
            raise WorkFailure("not_configured", f"No mail can be sent: set {', '.join(missing)}.")
        strangers = [one for one in recipients if self._allowed and not self._allows(one)]
        if strangers:
            said = f"Not allowed: {', '.join(strangers)}. The operator allows recipients"
            raise WorkFailure("recipient_refused", f"{said} with {variable('mail_recipients')}.")

    def _allows(self, address: str) -> bool:
        plain = address.lower()
        return plain in self._allowed or f"@{plain.rpartition('@')[2]}" in self._allowed


async def _attachment(context: ToolContext, path: str) -> Attachment:
    entry = next((one for one in await context.workspace.list() if one.path == path), None)
    if entry is None:
        raise WorkFailure("invalid_tool_input", f"attachments: the chat has no file {path[:200]!r}.")
    if entry.size_bytes > ATTACHED_BYTES:
        raise WorkFailure("invalid_tool_input", f"attachments: {path[:200]!r} has more than {ATTACHED_BYTES:,} bytes.")
    async with context.workspace.open(path) as file:
        data = await asyncio.to_thread(file.read_bytes)
    return Attachment(PurePosixPath(path).name, entry.media_type, data)


def _message_id(key: str, sender: str) -> str:
    """A Message-ID made from the call's key: the same when the mail is sent again, and unique to it."""
    return f"<{hashlib.sha256(key.encode()).hexdigest()[:32]}@{sender.rpartition('@')[2]}>"


def _told(found: SentEmail) -> str:
    to = ", ".join(found.recipients)
    if not found.sent:
        return f"Not sent (dry run): the message to {to} is {found.path}."
    return f"Sent to {to}." + (f" Refused: {', '.join(found.refused)}." if found.refused else "")
