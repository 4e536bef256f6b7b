"""Hand a message to the operator's mail server."""

from __future__ import annotations

import ipaddress
import smtplib
import ssl
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from agentsvc_nb.service.ports.agents import AgentFailure

SECONDS: Final = 30.0
_PORTS: Final = {"smtp": 587, "smtps": 465}


LOST: Final = (
    "The connection to the mail server was lost while the message was handed over. Whether it was taken is not known; "
    "it was not sent again."
)


def deliver(server: str, message: bytes, sender: str, recipients: list[str]) -> list[str]:
    """Send through `smtp://` (encrypted when the server can) or `smtps://`; the recipients that were refused.

    Blocks; belongs in a thread. Raises `AgentFailure`: `upstream_failed` when nobody gets the message, and
    `outcome_unknown` when the server may have taken it. A name and password are never sent in the clear, but to this
    machine.
    """
    smtp: Plain | None = None
    try:
        smtp = _opened(server)
        return sorted(smtp.sendmail(sender, recipients, message, _options(smtp, [sender, *recipients])))
    except smtplib.SMTPRecipientsRefused as error:
        raise AgentFailure(
            "upstream_failed", f"The mail server takes none of: {', '.join(error.recipients)}."
        ) from None
    except smtplib.SMTPResponseException as error:
        said = f" {bytes(error.smtp_error).decode(errors='replace')}" if isinstance(error.smtp_error, bytes) else ""
        raise AgentFailure("upstream_failed", f"The mail server answered {error.smtp_code}{said[:200]}.") from None
    except (OSError, smtplib.SMTPException) as error:
        if smtp is not None and smtp.handing_over:
            raise AgentFailure("outcome_unknown", LOST) from None
        raise AgentFailure(
            "upstream_failed", f"The mail server can't be reached, or hung up ({type(error).__name__})."
        ) from None
    finally:
        if smtp is not None:
            _leave(smtp)


class Plain(smtplib.SMTP):
    """Knows whether the message is on its way: from then on the server may take it without our hearing of it."""

    handing_over = False

    def data(self, msg: Any) -> tuple[int, bytes]:
        self.handing_over = True
        return super().data(msg)


class Encrypted(Plain, smtplib.SMTP_SSL):
    """The same, encrypted from the start."""


def _options(smtp: smtplib.SMTP, addresses: list[str]) -> list[str]:
    """What the server is told of addresses beyond ASCII. Raises `AgentFailure` when it knows none."""
    strange = [address for address in addresses if not address.isascii()]
    if strange and not smtp.has_extn("smtputf8"):
        raise AgentFailure(
            "upstream_failed", f"The mail server takes addresses of plain letters only, and not {strange[0]}."
        )
    return ["SMTPUTF8", "BODY=8BITMIME"] if strange else []


def _leave(smtp: smtplib.SMTP) -> None:
    """What the server says to our parting changes nothing about the message."""
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
        raise AgentFailure("upstream_failed", "The mail server offers no encryption: the password was not sent.")
    smtp.login(unquote(name), unquote(password or ""))


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
