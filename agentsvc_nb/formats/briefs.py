"""Labels in a brief that give an ad's texts, such as `Headline: Pack light`: one or several in a line. Pure."""

from __future__ import annotations

import re
from typing import Final

_LABELS: Final = {
    "headline": r"headlines?|title|tagline|slogan|claim|überschrift|titre|titular|message",
    "subline": r"sub(?:line|head(?:line)?|title)|body|copy|text|offer|angebot|offre|oferta|benefit|promise|usp",
    "action": r"cta|call[ -]to[ -]action|button|aktion|handlungsaufforderung",
    "brand": r"brand|company|advertiser|marke|firma|marque|marca|product name",
}
_BEFORE, _COLON = r"[ \t>*_#-]*", r"[*_]*[ \t]*[:：]"
_LABELLED: Final = {
    name: re.compile(rf"(?im)^{_BEFORE}(?:{words}){_COLON}[*_ \t]*(\S.*)$") for name, words in _LABELS.items()
}
_BEFORE_LABEL = re.compile(rf"(?i)(?<=[.!?;,。！？])[ \t]+(?={_BEFORE}(?:{'|'.join(_LABELS.values())}){_COLON})")
_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?;。！？])\s+")


def labelled(name: str, brief: str) -> list[str]:
    """The texts behind a label, in order. `name` is headline, subline, action or brand.

    >>> labelled("action", "Headline: Pack light\\nCTA: Shop tents;")
    ['Shop tents']
    """
    return [found[1].rstrip(",; ").strip("\"'“”„«»* ") for found in _LABELLED[name].finditer(brief)]


def is_labelled(line: str) -> bool:
    return any(pattern.match(line) for pattern in _LABELLED.values())


def in_lines(brief: str) -> str:
    """A brief with each label on a line of its own; a brief in a single line is also split into its sentences.

    >>> in_lines("Make an ad. Headline: Pack light, CTA: Shop tents")
    'Make an ad.\\nHeadline: Pack light,\\nCTA: Shop tents'
    """
    if "\n" not in brief.strip():
        brief = _BETWEEN_SENTENCES.sub("\n", brief)
    return _BEFORE_LABEL.sub("\n", brief)


def amended(brief: str, said: str) -> str:
    """The text `said` about a brief, followed by the brief without lines whose labels also occur in `said`.

    >>> amended("CTA: Shop tents\\nBrand: Northpeak", "Headline: Go far. CTA: Go")
    'Headline: Go far.\\nCTA: Go\\n\\nBrand: Northpeak'
    """
    said, brief = in_lines(said), in_lines(brief)
    for pattern in _LABELLED.values():
        if pattern.search(said):
            brief = pattern.sub("", brief)
    return "\n\n".join(part for part in (said.strip(), brief.strip()) if part)
