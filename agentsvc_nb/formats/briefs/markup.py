"""A brief as it was written (Markdown, HTML, YAML front matter) made plain lines, of which each says one thing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from agentsvc_nb.formats.briefs.instructions import is_for_makers
from agentsvc_nb.formats.documents import visible_text

_FRONT = re.compile(r"\A\ufeff?\s*---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.S)
_YAML_LINE = re.compile(r"\s*(?:#.*|-(?:\s.*)?|[\w /.-]{1,40}:(?:\s.*)?|[\[{}\]].*|[>|].*|\s+\S.*)?")
_COLOR_KEY = re.compile(r"(?i)(?:brand[ _-]?)?(?:colou?rs?|palette|farben?|couleurs?|colores)")
_TITLES = re.compile(r"(?i)(?:title|titel|titre|título|message)\s*:")
_HTML = re.compile(r"(?i)<(?:!doctype|html|head|body|main|section|article|div|h[1-6]|p|ul|ol|table)\b[^>]*>")
_UNSHOWN = re.compile(r"(?is)<(head|title|template|nav|script|style)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)")
_FENCED = re.compile(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)")
_ROW = re.compile(r"[ \t]*\|[ \t]*([^|\n]+?)[ \t]*\|[ \t]*([^|\n]+?)[ \t]*\|[ \t]*")
_RULE_OF_A_TABLE = re.compile(r"[ \t]*\|?[ \t:|-]*-[ \t:|-]*\|?[ \t]*")
HEADING: Final = re.compile(r"[ \t]*(#{1,6})[ \t]+(\S.*?)[ \t#]*")
_BOLD_ALONE = re.compile(r"[ \t]*(?:\*\*|__)([^*_\n]{2,60}?)[:：]?(?:\*\*|__)[:：]?[ \t]*")
_LABEL_ALONE = re.compile(r"[ \t]*([^\W\d_][^:：\n|]{1,60}?)[ \t]*[:：][ \t]*")


_BLANKS = re.compile(r"[^\S\n]{2,}")
_BLANK_LINES = re.compile(r"\n[^\S\n]*\n\s*\n")


def lines_of(brief: str, labels: re.Pattern[str]) -> str:
    """The brief in plain lines: without front matter but what it says of the ad, without comments, code, markup, and
    sections for those who make the ad. A value below its label (`labels` matches one) stands behind it.

    >>> lines_of("---\\ntitle: Q3\\nheadline: Go\\n---\\n## Tone\\nDry.\\n## CTA\\nBuy", re.compile("(?i)cta|headline"))
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
    shown = "".join(visible_text(marked)).replace("\ue000", "#")
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
        heading = HEADING.fullmatch(line)
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
        found = HEADING.fullmatch(line)
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
