"""Briefs of ads parsed: plain lines out of Markdown, HTML or YAML, the labels that give an ad's texts (`Headline: Pack
light`, or `with headline 'Pack light'`), and what only speaks to whoever makes the ad and never stands on it."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Final

from agentsvc_nb.tools.ads.briefs.languages import any_of

_MAKING: Final = rf"\b(?:{any_of('making')})\b"
_POLITE = re.compile(rf"(?:{any_of('polite')})\b", re.I)
_GREETING = re.compile(rf"(?:{any_of('greetings')})(?:\b[^.!?]{{0,40}},\s*\Z|\s*,.{{0,40}}\Z|\s*\Z)", re.I)
_WITHOUT_VERB = re.compile(
    rf"(?:(?:{any_of('numbers').replace(' ', '|')})\s+)(?:\w+\s+)?(?:{any_of('pictures')})\s+(?:{any_of('about')})\b",
    re.I,
)
_BIDS = re.compile(
    rf"(?:(?:then|and|also|dann|auch|puis|y)\s+)?(?:(?:{any_of('asking')})\W+)*(?:{any_of('bids')}|{any_of('make')})\b",
    re.I,
)
_FORBIDS = re.compile(rf"(?:{any_of('forbids')})(?!\w)", re.I)
_MUST = re.compile(rf"\b(?:{any_of('must')})\b", re.I)
_OF_MAKING = re.compile(_MAKING, re.I)
_FILE = re.compile(r"\w\.(?:png|jpe?g|webp|gif|svg|psd|pdf)\b", re.I)
_SECTION = re.compile(rf"\W*(?:\d+[.)]\s*)?(?:{any_of('sections')})\W*", re.I)
_TITLE_OF_A_BRIEF = re.compile(
    r"\b(?:brief(?:ing)?s?|draft|template|entwurf|projekt|project|proyecto|projet|\w*kampagne|campaign|campagne|campaña|v\d+)\b",
    re.I,
)


def is_instruction(sentence: str) -> bool:
    """Whether a sentence speaks to whoever makes the ad. `Keep warm` is for the ad, `Keep the headline short` is not.

    >>> is_instruction("Please use no stock photos"), is_instruction("Use less, live more")
    (True, False)
    """
    said = sentence.strip(" \t\"'“”„«»*_-–•>")
    if _POLITE.match(said) or forbids(said) or _FILE.search(said) or _GREETING.match(said):
        return True
    if _WITHOUT_VERB.match(said):
        return True
    return bool(_OF_MAKING.search(said)) and bool(_BIDS.match(said) or _MUST.search(said))


def forbids(sentence: str) -> bool:
    """Whether a sentence tells the maker of an ad what not to do: what it quotes must not stand there either.

    >>> forbids('Never use the word "cheap" in the copy')
    True
    """
    said = sentence.strip(" \t\"'“”„«»*_-–•>")
    if not _OF_MAKING.search(said):
        return False
    return bool(_FORBIDS.match(said)) or bool(_MUST.search(said) and _FORBIDS.search(said))


def is_for_makers(heading: str) -> bool:
    """Whether what stands under a heading is for those who make the ad, such as `Target audience`."""
    return _SECTION.fullmatch(heading) is not None


def names_the_brief(heading: str) -> bool:
    """Whether a heading is the title of the document rather than of what it is about, such as `Creative brief v2`."""
    return _TITLE_OF_A_BRIEF.search(heading) is not None


_FRONT = re.compile(r"\A\ufeff?\s*---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.S)
_YAML_LINE = re.compile(r"\s*(?:#.*|-(?:\s.*)?|[\w /.-]{1,40}:(?:\s.*)?|[\[{}\]].*|[>|].*|\s+\S.*)?")
_COLOR_KEY = re.compile(r"(?i)(?:brand[ _-]?)?(?:colou?rs?|palette|farben?|couleurs?|colores)")
_TITLES = re.compile(r"(?i)(?:title|titel|titre|título|message)\s*:")
_HTML = re.compile(r"(?i)<(?:!doctype|html|head|body|main|section|article|div|h[1-6]|p|ul|ol|table)\b[^>]*>")
_UNSHOWN = re.compile(r"(?is)<(head|title|template|nav|script|style)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)")
_BLOCK_TAG: Final = re.compile(r"(?i)</?(?:article|br|dd|div|dt|h[1-6]|li|ol|p|section|t(?:able|d|h|r)|ul)\b[^<>]*>")
_FENCED = re.compile(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)")
_ROW = re.compile(r"[ \t]*\|[ \t]*([^|\n]+?)[ \t]*\|[ \t]*([^|\n]+?)[ \t]*\|[ \t]*")
_RULE_OF_A_TABLE = re.compile(r"[ \t]*\|?[ \t:|-]*-[ \t:|-]*\|?[ \t]*")
_HEADING: Final = re.compile(r"[ \t]*(#{1,6})[ \t]+(\S.*?)[ \t#]*")
_BOLD_ALONE = re.compile(r"[ \t]*(?:\*\*|__)([^*_\n]{2,60}?)[:：]?(?:\*\*|__)[:：]?[ \t]*")
_LABEL_ALONE = re.compile(r"[ \t]*([^\W\d_][^:：\n|]{1,60}?)[ \t]*[:：][ \t]*")


_BLANKS = re.compile(r"[^\S\n]{2,}")
_BLANK_LINES = re.compile(r"\n[^\S\n]*\n\s*\n")


def _lines_of(brief: str, labels: re.Pattern[str]) -> str:
    """The brief in plain lines: without front matter but what it says of the ad, without comments, code, markup, and
    sections for those who make the ad. A value below its label (`labels` matches one) stands behind it.

    >>> _lines_of("---\\ntitle: Q\\nheadline: Go\\n---\\n## Tone\\nDry.\\n## CTA\\nBuy", re.compile("(?i)cta|headline"))
    'headline: Go\\nCTA: Buy'
    """
    front, rest = _parted(_tidy(brief))
    rest = _FENCED.sub("", _UNSHOWN.sub("", _shown(rest)))
    kept = _with_values(_for_the_ad(_rows(rest)), labels)
    return "\n".join([*_said_in(front, labels), *kept]).strip("\n")


def _tidy(text: str) -> str:
    """The text with single blanks and one empty line in a row. The patterns here try each beginning of a run: of 10,000
    blanks that took a minute."""
    return _BLANK_LINES.sub("\n\n", _BLANKS.sub(" ", text.replace("\r\n", "\n")))


def _parted(brief: str) -> tuple[str, str]:
    """The front matter, and what follows it. Two rules with prose between them are no front matter."""
    found = _FRONT.match(brief)
    if found is None or not all(_YAML_LINE.fullmatch(line) for line in found[1].splitlines()):
        return "", brief
    return found[1], brief[found.end() :]


def _said_in(front: str, labels: re.Pattern[str]) -> list[str]:
    """The texts and colours of an ad that front matter names. Its `title` is that of the document."""
    named = (re.match(r"([^\s:#-][^:]{0,40}):[ \t]+(\S.*)", line) for line in front.splitlines())
    pairs = [(found[1].replace("_", " "), found[2].strip("\"' ")) for found in named if found]
    return [
        f"{key}: {value}"
        for key, value in pairs
        if (labels.fullmatch(key) and not _TITLES.match(f"{key}:")) or _COLOR_KEY.fullmatch(key)
    ]


def _shown(text: str) -> str:
    """What a reader of an HTML page sees, with its headings and items as in Markdown; other text as it is."""
    if not _HTML.search(text[:20_000]):
        return text
    marked = re.sub(
        r"(?i)<h([1-6])\b[^>]*>", "\n<p>\ue000 ", re.sub(r"(?i)<li\b[^>]*>", "<li>- ", _UNSHOWN.sub("", text))
    )
    bare = re.sub(r"<[^<>]{0,1000}>", "", re.sub(_BLOCK_TAG, "\n", marked))
    shown = html.unescape(bare).replace("\ue000", "#")
    return "\n".join(" ".join(line.split()) for line in shown.splitlines())


def _rows(text: str) -> Iterator[str]:
    """Lines; a row of a table of two columns as `name: value`."""
    for line in text.splitlines():
        if row := _ROW.fullmatch(line):
            line = f"{row[1]}: {row[2]}"
        if not (_RULE_OF_A_TABLE.fullmatch(line) and "-" in line and len(line.strip()) > 2):
            yield line


def _for_the_ad(lines: Iterator[str]) -> Iterator[str]:
    """The lines that do not stand under a heading for those who make the ad."""
    level, begun = 0, False  # of the heading whose section is left out; 7 of a label alone, which a blank line ends
    for line in lines:
        heading = _HEADING.fullmatch(line)
        alone = None if heading else _BOLD_ALONE.fullmatch(line) or _LABEL_ALONE.fullmatch(line)
        depth = len(heading[1]) if heading else 7 if alone else 8
        if level and depth > level and not (level == 7 and (_labelled(line) or (begun and not line.strip()))):
            begun = begun or bool(line.strip())
            continue
        begun = False
        level = depth if is_for_makers(heading[2] if heading else alone[1] if alone else "") else 0
        if not level:
            yield line


def _labelled(line: str) -> bool:
    return bool(re.match(r"[ \t*_>-]*[^\W\d_][\w /-]{1,30}[*_]*[ \t]*[:：][*_ \t]*\S", line))


def _with_values(lines: Iterator[str], labels: re.Pattern[str]) -> Iterator[str]:
    """The lines, with the values below a label (a heading, or a name with a colon) behind it, each in its line."""
    label, given = "", False
    for line in lines:
        found = _HEADING.fullmatch(line)
        name = (
            found[2]
            if found
            else next((m[1] for m in (_BOLD_ALONE.fullmatch(line), _LABEL_ALONE.fullmatch(line)) if m), "")
        )
        name = name.strip("*_:： ")
        if name:
            label, given = (name if labels.fullmatch(name) else ""), False
            if not label:
                yield line
        elif not label or not line.strip():
            label = "" if given else label
            yield line
        elif given and not re.match(r"[ \t]*(?:[-*•+]|\d+[.)])[ \t]", line):
            label = ""
            yield line
        else:
            given = True
            yield f"{label}: {re.sub(r'^[ ]*(?:[-*•+]|[0-9]+[.)])[ ]+', '', line).strip()}"


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
    """A brief in plain lines (`_lines_of`), with each label on a line of its own; a brief in a single line is
    also split into its sentences.

    >>> in_lines("Make an ad with headline 'Go'. Headline: Pack light, CTA: Shop tents")
    'Make an ad.\\nHeadline: Pack light,\\nCTA: Shop tents\\nHeadline: Go'
    """
    brief, named = _without_named(_lines_of(brief, _ANY))
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
