"""`send_email`: written into the workspace by default; sent when asked to, to recipients that the operator allows."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import PurePosixPath
from typing import ClassVar, Final

from pydantic import BaseModel

from agentsvc_nb.service.ports.agents import AgentFailure
from agentsvc_nb.service.ports.tools import Outcome, Task
from agentsvc_nb.service.settings import Settings, variable
from agentsvc_nb.service.work.mail_message import Attachment, Mail, written
from agentsvc_nb.service.work.mailing import deliver
from agentsvc_nb.wire.limits import MB
from agentsvc_nb.wire.toolset.mail import SendEmailInput, SentEmail

ATTACHED_BYTES: Final = 20 * MB
NOBODY: Final = "agent@localhost.invalid"


class SendEmail:
    """Its file in the workspace is written before it is sent, so that nothing is sent that is not kept."""

    name: ClassVar[str] = "send_email"
    description: ClassVar[str] = (
        "Writes an e-mail into the workspace as an .eml file, and sends it when `dry_run` is false, to recipients that "
        "are allowed."
    )
    family: ClassVar[str] = "send_email"
    asynchronous: ClassVar[bool] = False
    idempotent: ClassVar[bool] = False
    effect: ClassVar[bool] = True

    Input: ClassVar[type[BaseModel]] = SendEmailInput
    Output: ClassVar[type[BaseModel] | None] = SentEmail

    def __init__(self, settings: Settings) -> None:
        self._server, self._sender = settings.smtp_url, settings.mail_from
        self._allowed = settings.mail_recipients

    def available(self) -> bool:
        return True

    async def run(self, given: SendEmailInput, task: Task) -> Outcome:
        recipients = list(dict.fromkeys(given.to))
        self._check(recipients, given.dry_run)
        files = [await _attachment(task, path) for path in given.attachments]
        if sum(len(file.data) for file in files) > ATTACHED_BYTES:
            raise AgentFailure("invalid_tool_input", f"attachments: they have more than {ATTACHED_BYTES:,} bytes.")
        sender = self._sender or NOBODY
        mail = Mail(sender, recipients, given.subject, given.text, _message_id(task.key, sender), given.html, files)
        message = await asyncio.to_thread(written, mail)
        path = f"mail/{mail.message_id[1:17]}.eml"
        await task.write(path, message)
        refused: list[str] = []
        if not given.dry_run:
            assert self._server is not None
            refused = await asyncio.to_thread(deliver, self._server, message, sender, recipients)
        found = SentEmail(
            sent=not given.dry_run, message_id=mail.message_id, path=path, recipients=recipients, refused=refused
        )
        return Outcome(content=[{"type": "text", "text": _told(found)}], data=found.model_dump())

    def _check(self, recipients: list[str], dry_run: bool) -> None:
        """Raises `recipient_refused` for who is not allowed, and `not_configured` when it can't be sent at all."""
        needed = {"smtp_url": self._server, "mail_from": self._sender, "mail_recipients": self._allowed}
        missing = [variable(name) for name, value in needed.items() if not value]
        if missing and not dry_run:
            raise AgentFailure("not_configured", f"No mail can be sent: set {', '.join(missing)}.")
        strangers = [one for one in recipients if self._allowed and not self._allows(one)]
        if strangers:
            said = f"Not allowed: {', '.join(strangers)}. The operator allows recipients"
            raise AgentFailure("recipient_refused", f"{said} with {variable('mail_recipients')}.")

    def _allows(self, address: str) -> bool:
        plain = address.lower()
        return plain in self._allowed or f"@{plain.rpartition('@')[2]}" in self._allowed


async def _attachment(task: Task, path: str) -> Attachment:
    entry = next((one for one in await task.workspace.list() if one.path == path), None)
    if entry is None:
        raise AgentFailure("invalid_tool_input", f"attachments: the chat has no file {path[:200]!r}.")
    if entry.size_bytes > ATTACHED_BYTES:
        raise AgentFailure("invalid_tool_input", f"attachments: {path[:200]!r} has more than {ATTACHED_BYTES:,} bytes.")
    data = await asyncio.to_thread((await task.workspace.open(path)).read_bytes)
    return Attachment(PurePosixPath(path).name, entry.media_type, data)


def _message_id(key: str, sender: str) -> str:
    """Of the call: the same if ever it is sent again, and of no other message."""
    return f"<{hashlib.sha256(key.encode()).hexdigest()[:32]}@{sender.rpartition('@')[2]}>"


def _told(found: SentEmail) -> str:
    to = ", ".join(found.recipients)
    if not found.sent:
        return f"Not sent (dry run): the message to {to} is {found.path}."
    return f"Sent to {to}." + (f" Refused: {', '.join(found.refused)}." if found.refused else "")
