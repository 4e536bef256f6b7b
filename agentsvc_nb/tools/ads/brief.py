"""Read the labelled lines of a brief: nothing else of it is ever printed on an ad."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Final

from pydantic import BaseModel, ConfigDict

LABELS: Final = ("headline", "text", "cta", "brand")
"""Labels of printed texts, in English and in any case."""
_LINE: Final = re.compile(
    rf"(?i)[ \t>*_#•-]*(?:\d+[.)][ \t]+)?[*_]*({'|'.join(LABELS)}|colou?rs?)[*_]*[ \t]*[:：][*_]*[ \t]*(\S.*)"
)
_HEX: Final = re.compile(r"#(?:[0-9a-fA-F]{3}){1,2}\b")
JOINERS: Final = "\u200c\u200d"
_QUOTES: Final = "\"'“”„«»"


class Texts(BaseModel):
    """The texts of one ad. An empty one is not printed."""

    model_config = ConfigDict(frozen=True)

    headline: str = ""
    text: str = ""
    cta: str = ""
    brand: str = ""


def labelled_lines(brief: str) -> dict[str, list[str]]:
    """Return the texts behind each label, in order. A label counts only at the beginning of a line.

    >>> labelled_lines("Budget EUR 240,000\\n**Headline:** Pack light\\n- CTA: “Shop tents”")
    {'headline': ['Pack light'], 'cta': ['Shop tents']}
    """
    found: dict[str, list[str]] = {}
    for line in brief.splitlines():
        if (match := _LINE.match(line)) and (text := one_line(match[2])):
            name = "colors" if match[1].lower().startswith("colo") else match[1].lower()
            found.setdefault(name, []).append(_without_marks(text))
    return found


def _without_marks(text: str) -> str:
    """Return a text without the emphasis and the quotation marks around it."""
    for marks in ("*_", "*_", "*_", _QUOTES):
        if len(text) > 2 and text[0] in marks and text[-1] in marks:
            text = text[1:-1].strip()
    return text


def ad_texts(brief: str, given: Mapping[str, str]) -> list[Texts]:
    """Return the texts of each ad that a brief describes, one for each headline.

    Args:
        brief: its n-th `Text:`, `CTA:` and `Brand:` belong to its n-th `Headline:`; fewer of them take turns.
        given: texts by label that replace those of the brief.
    """
    lines = labelled_lines(brief) | {label: [one_line(text)] for label, text in given.items()}
    heads = [head for head in lines.get("headline", []) if head]
    return [
        Texts(headline=head, **{label: lines[label][at % len(lines[label])] for label in LABELS[1:] if label in lines})
        for at, head in enumerate(heads)
    ]


def second_label(text: str) -> str:
    """Return a label within a text, as of a brief in a single line; empty if there is none.

    >>> second_label("Pack light. CTA: Shop tents")
    'CTA:'
    """
    found = re.search(r"\b(?:Headline|Text|CTA|Brand|Colou?rs):", text)
    return found[0] if found else ""


def brief_colors(brief: str) -> list[str]:
    """Return the `#rrggbb` codes of the `Colors:` lines.

    >>> brief_colors("Our colour is #ff0000\\nColors: #1f3d36, #f2b24c")
    ['#1f3d36', '#f2b24c']
    """
    return [code for line in labelled_lines(brief).get("colors", []) for code in _HEX.findall(line)][:4]


def one_line(text: str) -> str:
    """Return a text on one line with composed letters and without invisible characters.

    >>> one_line("Fu\u0308r\\x00 alle\\n ")
    'Für alle'
    """
    composed = unicodedata.normalize("NFC", text)
    return " ".join("".join(char for char in composed if char.isspace() or not _is_invisible(char)).split())


def _is_invisible(char: str) -> bool:
    """Return True for controls, marks of direction and variation selectors. Joiners shape their neighbours."""
    return "\ufe00" <= char <= "\ufe0f" or (unicodedata.category(char) in ("Cc", "Cf", "Cs") and char not in JOINERS)
