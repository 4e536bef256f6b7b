"""A mail as the bytes for the mail server: assembled here, then parsed again and compared before it is sent.

The standard library's header classes decode an encoded word (`=?utf-8?q?...?=`) in a given text, by which a subject
could add headers. Here every text is taken literally; and the assembled message is parsed by the library's older
parser and compared with the texts that were given, and perhaps approved.
"""

from __future__ import annotations

import email
import email.policy
import re
from base64 import b64encode, encodebytes
from binascii import b2a_qp
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from email.header import decode_header, make_header
from email.message import Message
from email.utils import collapse_rfc2231_value, format_datetime
from typing import Final
from urllib.parse import quote

from agentsvc_nb import clock
from agentsvc_nb.tools.port import WorkFailure

_WORD_BYTES: Final = 45
"""Bytes of text in one encoded word, which may have 75 characters."""
_SEGMENT_CHARS: Final = 60
_PLAIN: Final = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_PLAIN_NAME: Final = re.compile(r"[\w.+-](?:[\w .()+-]*[\w.()+-])?", re.ASCII)
_MEDIA_TYPE: Final = re.compile(r"(?!(?:message|multipart)/)[\w.+-]+/[\w.+-]+", re.ASCII)
"""Types that hold messages are excluded: they may not be encoded in base64, as files are."""
_BREAK: Final = re.compile("\r\n|\r|\n")
_UNTIDY: Final = re.compile(rb"\r(?!\n)|(?<!\r)\n|\0")
_TOP: Final = ["From", "To", "Subject", "Date", "Message-ID", "MIME-Version"]
_PART: Final = ["Content-Type", "Content-Transfer-Encoding"]

Header = tuple[str, str]


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
    """The message's bytes. Raises `WorkFailure("invalid_tool_input")` if they would be read differently from `mail`."""
    raw = _assembled(mail)
    if wrong := _difference(raw, mail):
        what = f"The message would not arrive as it was given ({wrong}), so nothing was sent."
        raise WorkFailure("invalid_tool_input", f"{what} Write it in plain characters.")
    return raw


def _assembled(mail: Mail) -> bytes:
    headers = [
        ("From", mail.sender),
        ("To", ",\r\n ".join(mail.recipients)),
        ("Subject", _unstructured(mail.subject)),
        ("Date", format_datetime(clock.now())),
        ("Message-ID", mail.message_id),
        ("MIME-Version", "1.0"),
    ]
    boundary = f"=_{mail.message_id[1:33]}"  # `=_` can't occur in an encoded body
    body = _text("plain", mail.text)
    if mail.html is not None:
        body = _multipart("alternative", f"{boundary}_texts", [body, _text("html", mail.html)])
    if mail.attachments:
        body = _multipart("mixed", f"{boundary}_parts", [body, *map(_attached, mail.attachments)])
    return _head(headers) + body


def _head(headers: Iterable[Header]) -> bytes:
    return "".join(f"{name}: {value}\r\n" for name, value in headers).encode()


def _text(subtype: str, text: str) -> bytes:
    """A text of the message as a part, with CRLF at the ends of lines and in the shorter of the two encodings."""
    lines = "".join(f"{line}\r\n" for line in _lines(text)).encode()
    quoted, packed = b2a_qp(lines), _packed(lines)
    encoding, body = ("quoted-printable", quoted) if len(quoted) <= len(packed) else ("base64", packed)
    return _head([("Content-Type", f'text/{subtype}; charset="utf-8"'), ("Content-Transfer-Encoding", encoding)]) + (
        b"\r\n" + body
    )


def _attached(file: Attachment) -> bytes:
    headers = [
        ("Content-Type", _media_type(file)),
        ("Content-Transfer-Encoding", "base64"),
        ("Content-Disposition", f"attachment;\r\n {_file_name(file.name)}"),
    ]
    return _head(headers) + b"\r\n" + _packed(file.data)


def _multipart(subtype: str, boundary: str, parts: Sequence[bytes]) -> bytes:
    head = _head([("Content-Type", f'multipart/{subtype}; boundary="{boundary}"')])
    line = f"--{boundary}".encode()
    return head + b"\r\n" + b"".join(line + b"\r\n" + part + b"\r\n" for part in parts) + line + b"--\r\n"


def _packed(data: bytes) -> bytes:
    return encodebytes(data).replace(b"\n", b"\r\n")


def _media_type(file: Attachment) -> str:
    return file.media_type if _MEDIA_TYPE.fullmatch(file.media_type) else "application/octet-stream"


def _unstructured(text: str) -> str:
    """A text as the value of a header (RFC 2047). A text that looks like an encoded word is encoded itself."""
    if _PLAIN.fullmatch(text) and "=?" not in text:
        return text
    pieces = _pieces([(char, char.encode()) for char in text], _WORD_BYTES)
    return "\r\n ".join(f"=?utf-8?b?{b64encode(piece.encode()).decode()}?=" for piece in pieces)


def _file_name(name: str) -> str:
    """The parameter `filename`; in RFC 2231's encoding if it is long or has more than plain characters."""
    if _PLAIN_NAME.fullmatch(name) and len(name) <= _SEGMENT_CHARS:
        return f'filename="{name}"'
    escaped = [(part, part.encode()) for part in (quote(char, safe="") for char in name)]
    first, *others = _pieces(escaped, _SEGMENT_CHARS)
    segments = [f"utf-8''{first}", *others]
    return ";\r\n ".join(f"filename*{number}*={segment}" for number, segment in enumerate(segments))


def _pieces(parts: Iterable[tuple[str, bytes]], room: int) -> list[str]:
    """The texts joined into pieces of at most `room` bytes; a part is a text and its bytes."""
    pieces, left = [""], room
    for text, coded in parts:
        if len(coded) > left:
            pieces.append("")
            left = room
        pieces[-1] += text
        left -= len(coded)
    return pieces


def _lines(text: str) -> list[str]:
    lines = _BREAK.split(text)
    return lines[:-1] if len(lines) > 1 and not lines[-1] else lines


def _difference(raw: bytes, mail: Mail) -> str | None:
    """Which part of the message would be read differently from `mail`; None when all is equal."""
    if _UNTIDY.search(raw):
        return "a line is broken"
    message = email.message_from_bytes(raw, policy=email.policy.compat32)
    texts = [mail.text] if mail.html is None else [mail.text, mail.html]
    parts = [part for part in message.walk() if not part.is_multipart()]
    odd = [part for part in message.walk() if part.defects or part.preamble or part.epilogue]
    if odd or len(parts) != len(texts) + len(mail.attachments):
        return "its parts"
    return (
        _wrong_head(raw, mail)
        or _wrong_names(message, parts, len(texts))
        or _wrong_texts(parts[: len(texts)], texts)
        or _wrong_attachments(parts[len(texts) :], mail.attachments)
    )


def _wrong_head(raw: bytes, mail: Mail) -> str | None:
    """Check that each header occurs once, in order, with the value that was given. Returns the name of a wrong one."""
    lines = re.sub(rb"\r\n(?=[ \t])", b"", raw.partition(b"\r\n\r\n")[0]).split(b"\r\n")
    head = [(name, value) for name, _, value in (line.decode("utf-8", "replace").partition(": ") for line in lines)]
    names = [name for name, _ in head]
    if names not in ([*_TOP, *_PART], [*_TOP, *_PART[:1]]):
        return "its headers"
    values = dict(head)
    given = {
        "From": mail.sender,
        "To": ", ".join(mail.recipients),
        "Subject": mail.subject,
        "Message-ID": mail.message_id,
    }
    read = values | {"Subject": _decoded(values["Subject"])}
    return next((name for name, value in given.items() if read[name] != value or _is_active(name, value)), None)


def _is_active(name: str, value: str) -> bool:
    """Whether a value breaks the line, or has an encoded word in a header where nothing is encoded."""
    return bool(_BREAK.search(value)) or (name != "Subject" and "=?" in value)


def _decoded(value: str) -> str | None:
    try:
        return str(make_header(decode_header(value)))
    except (ValueError, LookupError):
        return None


def _wrong_names(message: Message, parts: Sequence[Message], texts: int) -> str | None:
    """Check that the parts have exactly the headers of a text or a file, and multiparts only their type."""
    wanted = [_PART if number < texts else [*_PART, "Content-Disposition"] for number in range(len(parts))]
    if message.is_multipart() and [part.keys() for part in parts] != wanted:
        return "the headers of its parts"
    inner = [part.keys() for part in message.walk() if part.is_multipart() and part is not message]
    return "the headers of its parts" if any(names != _PART[:1] for names in inner) else None


def _wrong_texts(parts: Sequence[Message], texts: Sequence[str]) -> str | None:
    for part, kind, text in zip(parts, ("plain", "html"), texts, strict=False):
        data = part.get_payload(decode=True)
        read = data.decode("utf-8", "replace") if isinstance(data, bytes) else ""
        declared = (part.get_content_type(), part.get_content_charset())
        if declared != (f"text/{kind}", "utf-8") or _lines(read) != _lines(text):
            return f"the {kind} text"
    return None


def _wrong_attachments(parts: Sequence[Message], files: Sequence[Attachment]) -> str | None:
    for part, file in zip(parts, files, strict=True):
        found = part.get_param("filename", header="Content-Disposition")
        name = collapse_rfc2231_value(found) if found is not None else None
        if name != file.name or _BREAK.search(file.name):
            return "the name of an attachment"
        if part.get_payload(decode=True) != file.data or part.get_content_type() != _media_type(file).lower():
            return "an attachment"
    return None
