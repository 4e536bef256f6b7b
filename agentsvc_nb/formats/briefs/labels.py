"""Labels in a brief that give an ad's texts, such as `Headline: Pack light`, or `with headline 'Pack light'`: one or
several in a line."""

from __future__ import annotations

import re
from typing import Final

from agentsvc_nb.formats.briefs.languages import any_of
from agentsvc_nb.formats.briefs.markup import lines_of

_LABELS: Final = {
    "headline": r"headlines?|title|tagline|slogan|claim|überschrift|schlagzeile|titre|accroche|titular|título|eslogan|"
    r"message|(?:key|main) message|headline (?:options|ideas)",
    "subline": r"sub(?:line|head(?:line)?|title)|unterzeile|untertitel|sous-titre|subtítulo|body|(?:body )?copy|text|"
    r"offer|angebot|offre|oferta|benefit|promise|usp",
    "action": r"cta|call[ -]to[ -]action|button|schaltfläche|bouton|botón|aktion|handlungsaufforderung",
    "brand": r"brand(?: name)?|company|advertiser|marke|firma|marque|marca|product name",
}
_BEFORE, _COLON = r"[ \t>*_#-]*", r"[*_]*[ \t]*[:：]"
_LABELLED: Final = {
    name: re.compile(rf"(?im)^{_BEFORE}(?:{words}){_COLON}[*_ \t]*(\S.*)$") for name, words in _LABELS.items()
}
_ANY: Final = re.compile(rf"(?i){'|'.join(_LABELS.values())}")
_BEFORE_LABEL = re.compile(rf"(?i)(?<=[.!?;,。！？])[ \t]+(?={_BEFORE}(?:{'|'.join(_LABELS.values())}){_COLON})")
_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?;。！？])\s+")

# A text in a sentence, behind what it is for: `with the headline 'Go'`, `mit dem Slogan „Los“`.
_NAMED: Final = {
    "Headline": r"headline|title|heading|tagline|slogan|claim|text|words|überschrift|schlagzeile|titel|aufschrift|"
    r"titre|accroche|texte|titular|título|texto|eslogan|"
    r"(?:en)?titled|saying|reading|captioned|betitelt|intitulée?|titulad[oa]",
    "Subline": r"sub(?:line|head(?:line)?|title)|unterzeile|untertitel|sous-titre|subtítulo",
    "CTA": r"cta|call[ -]to[ -]action|button|schaltfläche|bouton|botón",
    "Brand": r"brand|marke|marque|marca",
}
_QUOTED = (
    r"(?:\"([^\"\n]{1,200})\"|“([^”\n]{1,200})”|„([^“”\n]{1,200})[“”]|«\s*([^»\n]{1,200}?)\s*»|»([^«\n]{1,200})«|"
    r"‘((?:[^’\n]|(?<=\w)’(?=\w)){1,200})’|(?<!\w)'((?:[^'\n]|(?<=\w)'(?=\w)){1,200})'(?!\w)|`([^`\n]{1,200})`)"
)
_BARE = r"(?-i:([A-ZÀ-ÖØ-Þ0-9¡¿][^.,;:!?\"'\n]{0,80}?[!?]?))"
_SAYS = (
    r"(?:\s+(?:text|that|which|of|is|says|saying|reads|reading|lautet|ist|qui|dit|que|dice|diga|es|est))*\s*[:=]?\s*"
)
_JOIN = rf"(?:\s*[,;(]\s*|\s+|^)(?:(?:{any_of('joins')})\s+)?(?:(?:{any_of('articles')})\s*)?"
_WITH = rf"(?:\s*[,;(]\s*|\s+|^)(?:{any_of('joins')})\s+(?:(?:{any_of('articles')})\s*)?"
_NAMES = "|".join(rf"(?P<{name}>{words})" for name, words in _NAMED.items())
_IN_QUOTES = re.compile(rf"(?im){_JOIN}\b(?:{_NAMES})\b{_SAYS}{_QUOTED}\)?")
_NEXT = rf"\s+(?:{any_of('joins')})\s+(?:(?:{any_of('articles')})\s*)?(?:{'|'.join(_NAMED.values())})\b"
_UNQUOTED = re.compile(rf"(?im){_WITH}\b(?:{_NAMES})\b{_SAYS}{_BARE}(?={_NEXT}|[.,;)]|\s*$|(?<=[!?])\s)")
_TOLD = re.compile(r"[:=]|\b(?:is|says|saying|reads|reading|lautet|ist|dit|dice|diga|es|est)\b", re.I)
_VERB = re.compile(r"(?:en)?titled|saying|reading|captioned|betitelt|intitulée?|titulad[oa]", re.I)
_JOINED = re.compile(rf"\W*(?:{any_of('joins')})\b", re.I)


def labelled(name: str, brief: str) -> list[str]:
    """The texts behind a label, in order. `name` is headline, subline, action or brand.

    >>> labelled("action", "Headline: Pack light\\nCTA: Shop tents;")
    ['Shop tents']
    """
    return [found[1].rstrip(",; ").strip("\"'“”„«»* ") for found in _LABELLED[name].finditer(brief)]


def is_labelled(line: str) -> bool:
    return any(pattern.match(line) for pattern in _LABELLED.values())


def in_lines(brief: str) -> str:
    """A brief in plain lines (`markup.lines_of`), with each label on a line of its own; a brief in a single line is
    also split into its sentences.

    >>> in_lines("Make an ad with headline 'Go'. Headline: Pack light, CTA: Shop tents")
    'Make an ad.\\nHeadline: Pack light,\\nCTA: Shop tents\\nHeadline: Go'
    """
    brief, named = _without_named(lines_of(brief, _ANY))
    if "\n" not in brief.strip():
        brief = _BETWEEN_SENTENCES.sub("\n", brief)
    return "\n".join([*filter(None, [_BEFORE_LABEL.sub("\n", brief)]), *named])


def _without_named(brief: str) -> tuple[str, list[str]]:
    """The brief without the texts that its sentences name, and these as labelled lines."""
    named: list[str] = []

    def taken(found: re.Match[str]) -> str:
        label = next(name for name in _NAMED if found[name])
        text = next(part for part in found.groups()[len(_NAMED) :] if part)
        before = found[0][: found.start(label) - found.start()]
        between = found[0][found.end(label) - found.start() :]
        said = _JOINED.match(before) or _TOLD.match(between.lstrip()) or _VERB.fullmatch(found[label])
        if before.strip(" ,;(\n") and not said:
            return found[0]  # `The headline "Go" did badly` gives none
        named.append(f"{label}: {text.strip()}")
        return ""

    return _UNQUOTED.sub(taken, _IN_QUOTES.sub(taken, brief)), named


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
