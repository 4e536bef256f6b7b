"""Hand a message to the operator's mail server."""

from __future__ import annotations

import ipaddress
import smtplib
import ssl
from email.message import EmailMessage
from typing import Final
from urllib.parse import unquote, urlsplit

from agentsvc_nb.service.ports import AgentFailure

SECONDS: Final = 30.0
_PORTS: Final = {"smtp": 587, "smtps": 465}


def deliver(server: str, message: EmailMessage, sender: str, recipients: list[str]) -> list[str]:
    """Send through `smtp://` (encrypted when the server can) or `smtps://`; the recipients that were refused.

    Blocks; belongs in a thread. Raises `AgentFailure("upstream_failed")` when nobody gets the message. A name and
    password are never sent in the clear, but to this machine.
    """
    try:
        with _opened(server) as smtp:
            return sorted(smtp.send_message(message, sender, recipients))
    except smtplib.SMTPRecipientsRefused as error:
        raise AgentFailure(
            "upstream_failed", f"The mail server takes none of: {', '.join(error.recipients)}."
        ) from None
    except smtplib.SMTPResponseException as error:
        said = f" {bytes(error.smtp_error).decode(errors='replace')}" if isinstance(error.smtp_error, bytes) else ""
        raise AgentFailure("upstream_failed", f"The mail server answered {error.smtp_code}{said[:200]}.") from None
    except (OSError, smtplib.SMTPException) as error:
        raise AgentFailure(
            "upstream_failed", f"The mail server can't be reached, or hung up ({type(error).__name__})."
        ) from None


def _opened(server: str) -> smtplib.SMTP:
    parts = urlsplit(server)
    host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    if parts.scheme == "smtps":
        smtp: smtplib.SMTP = smtplib.SMTP_SSL(host, port, timeout=SECONDS, context=ssl.create_default_context())
    else:
        smtp = smtplib.SMTP(host, port, timeout=SECONDS)
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
        raise AgentFailure("upstream_failed", "The mail server offers no encryption: the password was not sent.")
    smtp.login(unquote(name), unquote(password or ""))


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
