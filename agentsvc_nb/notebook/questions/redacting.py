"""Secrets out of a text before it is sent: a traceback shows what stood in variables and in the cell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

HIDDEN: Final = "[redacted]"
_SECRET_NAME = r"(?:api_?key|secret|token|passw(?:or)?d|passphrase|credential|authorization)"
_NAME = re.compile(_SECRET_NAME + r"|_key$", re.IGNORECASE)
_SHORTEST: Final = 8
"""Characters of an environment's secret: shorter ones stand in ordinary words."""

_SHAPES: Final = (
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    re.compile(r"\b(?:svc_(?:sk|oat)_|sk-|gh[pousr]_|github_pat_|xox[abprs]-|glpat-|hf_)[\w-]{8,}"),
    re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"),  # a signed token
)
_AFTER: Final = (
    re.compile(r"(?i)(\b(?:bearer|basic)\s+)[\w.~+/=-]{8,}"),
    re.compile(r"(?<=://)([^\s:/@]*:)[^\s/@]+(?=@)"),
    re.compile(rf"(?i)(\w*{_SECRET_NAME}\w*[\"']?\]?\s*[:=]\s*(?:[rbfu]{{0,2}})[\"'])[^\"'\n]+"),
)


def redacted(text: str, environ: Mapping[str, str]) -> str:
    """The text without keys: of known shapes, after a telling name, or as they stand in the environment.

    >>> redacted("api_key = 'abc123'; Bearer 0123456789", {})
    "api_key = '[redacted]'; Bearer [redacted]"
    """
    held = {value for name, value in environ.items() if _NAME.search(name) and len(value) >= _SHORTEST}
    for value in sorted(held, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    for shape in _SHAPES:
        text = shape.sub(HIDDEN, text)
    for after in _AFTER:
        text = after.sub(rf"\g<1>{HIDDEN}", text)
    return text
