"""Recognise API keys by their form, so that no output repeats a key that a user typed in place of something else."""

from __future__ import annotations

import re
from typing import Final

HIDDEN: Final = "[redacted]"
KEY_FORMS: Final = {
    "OpenAI, Anthropic": re.compile(r"\bsk-[\w-]{8,}"),
    "this service": re.compile(r"\bsvc_(?:sk|oat)_[\w-]{8,}"),
    "GitHub": re.compile(r"\b(?:gh[pousr]_|github_pat_)[\w-]{8,}"),
    "GitLab": re.compile(r"\bgl(?:pat|ptt|dt|rt|cbt)-[\w-]{8,}"),
    "Slack": re.compile(r"\b(?:xox[a-z]-|xapp-)[\w-]{8,}"),
    "Slack webhook": re.compile(r"(?<=hooks\.slack\.com/services/)[\w/]{20,}"),
    "AWS key id": re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "JSON Web Token": re.compile(r"(?<![\w-])eyJ[\w-]{8,}+\.[\w-]{8,}+\.[\w-]*"),
    "Google": re.compile(r"\b(?:AIza[\w-]{35}|GOCSPX-[\w-]{20,}|ya29\.[\w-]{16,})"),
    "Stripe": re.compile(r"\b(?:sk|rk|pk|whsec)_(?:live|test)?_?[A-Za-z0-9]{16,}\b"),
    "SendGrid": re.compile(r"\bSG\.[\w-]{16,}+\.[\w-]{16,}"),
    "Twilio": re.compile(r"\bSK[0-9a-f]{32}\b"),
    "Telegram": re.compile(r"\b\d{8,10}:AA[\w-]{33}\b"),
    "Databricks": re.compile(r"\bdapi[0-9a-f]{32}\b"),
    "Hugging Face": re.compile(r"\bhf_[\w-]{8,}"),
    "prefixes of others": re.compile(
        r"\b(?:npm_|pypi-|dop_v1_|shp(?:at|ca|pa|ss)_|gsk_|AGE-SECRET-KEY-|xai-|pplx-|nvapi-|csk-|lin_api_|ntn_|PMAK-|hvs\.)"
        r"[\w-]{16,}"
    ),
}
"""Maps the issuers of keys to patterns that match their keys."""
LOOKS_LIKE_KEY: Final = "This looks like a key, so it is not shown here."
A_NAME_IS_WANTED: Final = (
    "Enter only the model's name, such as anthropic:claude-sonnet-4-6. You are asked for the key next."
)
"""The advice for a user who typed a key in place of a model's name."""

_WORD: Final = re.compile(r"[^\s'\"`,:=/]+")
_NO_SHAPE: Final = re.compile(r"(?=\w*[0-9])(?=\w*[A-Za-z])[A-Za-z0-9_]{24,}")


def looks_like_key(text: str) -> bool:
    """Return True if a text that should be a name is a key, or contains a key as one of its words.

    >>> looks_like_key("anthropic:sk-ant-api03-Qq7Zz0"), looks_like_key("anthropic:claude-sonnet-4-6")
    (True, False)
    >>> looks_like_key("0f3a9c0f3a9c0f3a9c0f3a9c0f3a9c"), looks_like_key("claude-3-5-sonnet-20241022")
    (True, False)
    """
    return bool(_NO_SHAPE.fullmatch(text)) or any(map(_is_key, _WORD.findall(text)))


def without_keys(text: str) -> str:
    """Return the text with each word that is a key replaced by `[redacted]`.

    >>> without_keys("invalid choice: 'sk-ant-api03-Qq7Zz0' (choose from 'ask')")
    "invalid choice: '[redacted]' (choose from 'ask')"
    """
    return _WORD.sub(lambda word: HIDDEN if _is_key(word[0]) else word[0], text)


def _is_key(word: str) -> bool:
    bare = word.strip("().[]<>{};!?…")
    return any(shape.fullmatch(bare) for shape in KEY_FORMS.values())
