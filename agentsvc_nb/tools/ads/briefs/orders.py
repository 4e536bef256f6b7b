"""Orders of pictures: what a brief is about without the words that order the picture."""

from __future__ import annotations

import re
from typing import Final

from agentsvc_nb.tools.ads.briefs.languages import LANGUAGES, any_of

_MAKE, _PICTURE = any_of("make"), any_of("pictures")
_WISH: Final = rf"\b(?:{_MAKE})\b(?:\W+\w+){{0,7}}?\W+(?:{_PICTURE})\b"
_READ_FIRST = (
    r"\b(?:read|see|open|use|follow|check|lies|nimm|öffne|nutze|lis|ouvre|utilise|lee|abre|usa)\b[^.!?\n]{0,40}?"
    r"\bbrief\w*(?:\.\w+)?\b[^.!?\n]{0,40}?\b(?:and|then|und|et|y)\W+"
)
_NUMBERS: Final = sorted(
    (word for language in LANGUAGES for words in language.numbers.split() for word in words.split("|")),
    key=len,
    reverse=True,
)
_COMMAND = re.compile(
    rf"(?:{_READ_FIRST})?(?:\b(?:{any_of('asking')})\W+)*(?:{_WISH}|\bcreate_images\b|"
    rf"\A(?:{'|'.join(_NUMBERS)})\W+(?:\w+\W+)?(?:{_PICTURE})(?=\W+(?:{any_of('about')})\b))"
    rf"(?:\W+(?:{any_of('about')})\b)?[ \t:,]*",
    re.I,
)
_SIZES: Final = {
    "square": r"1:1|1080\s*[x×]\s*1080|squares?|quadrat\w*|carrés?|cuadrad\w+",
    "portrait": r"4:5|1080\s*[x×]\s*1350|portrait|hochformat",
    "story": r"9:16|1080\s*[x×]\s*1920|stor(?:y|ies)|historias?",
    "reel": r"reels?|tiktoks?|shorts",
    "landscape": r"1[.,]91:1|1200\s*[x×]\s*628|landscape|querformat|paysage|horizontal(?:es)?",
    "wide": r"16:9|1920\s*[x×]\s*1080|wide ?screen|breitbild",
}
"""The sizes of ads, and how briefs name them."""
_SIZE: Final = rf"(?<![\w:])(?:{'|'.join(_SIZES.values())})(?![\w:])"
_FORMAT: Final = r"(?:[ -]?(?:formate?s?|formatos?|sizes?|versions?|größen?))?"
_SIZES_SAID = re.compile(
    rf"(?:(?<![\s,(])[\s,(]*\b(?:in|as|als|im|en|au|sizes?|formate?s?|formatos?)\b\W+)(?:(?:{any_of('articles')})\s+)?"
    rf"(?:format[os]?\s+)?{_SIZE}{_FORMAT}(?:(?:\s*[,&/+]\s*|\s+(?:and|und|et|y)\s+)(?:(?:{any_of('articles')})\s+)?"
    rf"{_SIZE}{_FORMAT})*\)?",
    re.I,
)


def without_command(message: str) -> str:
    """Return what a picture is to be about: the message without the words that order it.

    >>> without_command("Please create 3 ads for our summer sale in 9:16")
    'our summer sale'
    """
    return _COMMAND.sub("", _SIZES_SAID.sub("", message), count=1).strip().lstrip(".,:;! ")
