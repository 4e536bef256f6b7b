"""Secrets in texts of the user's, such as a cell or a traceback, replaced before an agent is told."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from agentsvc_nb.wire.keys import HIDDEN, KEY_SHAPES

_SECRET_NAME = r"(?:api_?key|secret|token|passw(?:or)?d|passphrase|credential|authorization)"
_NAME = re.compile(_SECRET_NAME + r"|_key$", re.IGNORECASE)
_SHORTEST: Final = 8
"""The least length of an environment variable's value to be redacted: a shorter one may occur in ordinary words."""

# Secrets that are recognised by their own form, and secrets that are recognised by what stands before them. Possessive
# and bounded where a text of others could make a search take time with the square of its length.
_SHAPES: Final = (
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    *KEY_SHAPES,
    re.compile(r"(?<![\w/+])(?:AccountKey|SharedAccessKey|SharedAccessSignature)=[^;\s]+", re.IGNORECASE),  # Azure
    re.compile(r"(?i)(?<=[?&])(?:access_token|api_?key|sig|signature|token|password)=[^&\s\"']+"),
)
_AFTER: Final = (
    re.compile(r"(?i)(\bbearer\s+)[\w.~+/=-]{8,}"),
    re.compile(
        r"(\b(?i:basic)\s+)(?![A-Z]?[a-z]+\b)[A-Za-z0-9+/]{8,}={0,2}"
    ),  # base64, and no word: `basic statistics`
    re.compile(r"(?<=://)([^\s:/@]*:)[^\s/]+(?=@)"),
    re.compile(
        rf"(?i)(\b(?=\w*?{_SECRET_NAME})\w++[\"']?\]?\s*[:=]\s*[rbfu]{{0,2}}(?P<quote>\"\"\"|'''|[\"']))"
        r"(?:\\.|(?!(?P=quote))[^\\\n])+"
    ),
)

_DIGITS: Final = re.compile(r"(?<!\d)(?<!\d\.)(?:\d[ -]?){12,18}\d(?!\.?\d)")
_ISSUERS: Final = re.compile(r"4|5[1-5]|2[2-7]|3[47]|36|38|30|6")


def redacted(text: str, environ: Mapping[str, str]) -> str:
    """Redact secrets: keys of known forms, values after a telling name, secret values of the environment, and numbers
    of payment cards.

    >>> redacted("api_key = 'abc123'; Bearer 0123456789", {})
    "api_key = '[redacted]'; Bearer [redacted]"
    """
    held = {value for name, value in environ.items() if _NAME.search(name) and len(value) >= _SHORTEST}
    # The longest first: a shorter secret may be a part of a longer one.
    for value in sorted(held, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    for shape in _SHAPES:
        text = shape.sub(HIDDEN, text)
    for after in _AFTER:
        text = after.sub(rf"\g<1>{HIDDEN}", text)
    return _DIGITS.sub(lambda found: HIDDEN if is_card(found[0]) else found[0], text)


def is_card(number: str) -> bool:
    """Whether digits (with blanks or dashes) begin as a payment card's do, and have its check digit.

    >>> is_card("4111-1111-1111-1111"), is_card("4111111111111112")
    (True, False)
    """
    digits = [int(char) for char in number if char.isdigit()]
    if not _ISSUERS.match("".join(map(str, digits))):
        return False
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
