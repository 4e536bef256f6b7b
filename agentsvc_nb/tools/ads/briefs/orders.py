"""Orders of pictures in a message: whether it has one, how many pictures, in which sizes."""

from __future__ import annotations

import re
from typing import Final

from agentsvc_nb.tools.ads.briefs.languages import LANGUAGES, any_of

PICTURES_MAX: Final = 20
SEVERAL: Final = 2
"""How many pictures "pictures" are, when the message does not say."""

_MAKE, _PICTURE = any_of("make"), any_of("pictures")
WISH: Final = re.compile(rf"\b(?:{_MAKE})\b(?:\W+\w+){{0,7}}?\W+(?:{_PICTURE})\b", re.I)
_COUNTED = re.compile(rf"\b(\w+)\W+(?:{_PICTURE})\b", re.I)
_SEVERAL = re.compile(rf"\b(?:{any_of('several')})\Z", re.I)
_READ_FIRST = (
    r"\b(?:read|see|open|use|follow|check|lies|nimm|öffne|nutze|lis|ouvre|utilise|lee|abre|usa)\b[^.!?\n]{0,40}?"
    r"\bbrief\w*(?:\.\w+)?\b[^.!?\n]{0,40}?\b(?:and|then|und|et|y)\W+"
)
_NUMBERS: Final = {
    word: number
    for language in LANGUAGES
    for number, words in enumerate(language.numbers.split(), 1)
    for word in words.split("|")
}
_ONES: Final = sorted(_NUMBERS, key=len, reverse=True)
_COMMAND = re.compile(
    rf"(?:{_READ_FIRST})?(?:\b(?:{any_of('asking')})\W+)*(?:{WISH.pattern}|\bcreate_images\b|"
    rf"\A(?:{'|'.join(_ONES)})\W+(?:\w+\W+)?(?:{_PICTURE})(?=\W+(?:{any_of('about')})\b))"
    rf"(?:\W+(?:{any_of('about')})\b)?[ \t:,]*",
    re.I,
)
_NOT_A_COUNT = re.compile(r"\d+\s*[:x×*]\s*\d+|\d+\s*(?:%|px|€|\$|st\b|nd\b|rd\b|th\b)|[$€£]\s*\d+|\d+-\w+", re.I)
_SIZES: Final = {
    "square": r"1:1|1080\s*[x×]\s*1080|squares?|quadrat\w*|carrés?|cuadrad\w+",
    "portrait": r"4:5|1080\s*[x×]\s*1350|portrait|hochformat",
    "story": r"9:16|1080\s*[x×]\s*1920|stor(?:y|ies)|historias?",
    "reel": r"reels?|tiktoks?|shorts",
    "landscape": r"1[.,]91:1|1200\s*[x×]\s*628|landscape|querformat|paysage|horizontal(?:es)?",
    "wide": r"16:9|1920\s*[x×]\s*1080|wide ?screen|breitbild",
}
"""The sizes of ads, and how messages name them."""
_SIZE: Final = rf"(?<![\w:])(?:{'|'.join(_SIZES.values())})(?![\w:])"
_FORMAT: Final = r"(?:[ -]?(?:formate?s?|formatos?|sizes?|versions?|größen?))?"
_SIZES_SAID = re.compile(
    rf"(?:(?<![\s,(])[\s,(]*\b(?:in|as|als|im|en|au|sizes?|formate?s?|formatos?)\b\W+)(?:(?:{any_of('articles')})\s+)?"
    rf"(?:format[os]?\s+)?{_SIZE}{_FORMAT}(?:(?:\s*[,&/+]\s*|\s+(?:and|und|et|y)\s+)(?:(?:{any_of('articles')})\s+)?"
    rf"{_SIZE}{_FORMAT})*\)?",
    re.I,
)
_SIZED = re.compile(rf"({_SIZE})[ -]+(?={_PICTURE}|formate?s?\b|formatos?\b|sizes?\b|versions?\b)", re.I)


PLACED_TYPES: Final = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
_FILE: Final = r"(?<![\w/.-])[\w./-]+\.(?:png|jpe?g|webp|gif)(?![\w.])"
_ENDS: Final = r"(?=\s*(?:$|[.,;:!?)\n]|\b(?:and|und|et|y|for|für|pour|para|in|on|with|mit|avec|con)\b))"
_WANTED: Final = {
    "logo": rf"logos?\b{_ENDS}",
    "product": rf"(?:product (?:photo|picture|image|shot)s?|(?:photo|picture|image) of (?:the|our) product|"
    rf"(?:our|the|this|attached|my) (?:photo|packshot)|produkt(?:foto|bild)|(?:unser|das|dem|unserem) foto|packshots?|"
    rf"photo du produit|(?:notre|la) photo|foto del producto|(?:nuestra|la) foto)\b{_ENDS}",
}
_UNWANTED: Final = r"(?:no|not|never|without|avoid|kein\w*|ohne|sans|pas de|sin)\s+(?:\w+\s+){0,2}"
_PLACED = re.compile(
    rf"(?<![\s,;])(?:[\s,;]*\b(?:{any_of('joins')}|of|von|de)\b)?\s+(?:(?:{any_of('articles')}|our|my|this|attached|unser\w*|notre|"
    rf"nuestr[oa])\s+){{0,4}}(?:(?:logo|photo|picture|image|product|foto|bild|produktfoto)\s+){{0,4}}"
    rf"(?:{_FILE}|{'|'.join(_WANTED.values())})",
    re.I,
)


def pictures_named(message: str) -> list[str]:
    """The files of pictures that a message names.

    >>> pictures_named("An ad with tent.png and the logo brand/logo.webp")
    ['tent.png', 'brand/logo.webp']
    """
    return list(dict.fromkeys(re.findall(_FILE, message, re.I)))


def is_logo(path: str) -> bool:
    return re.search(r"(?i)logo|signet|wordmark|brandmark", path.rpartition("/")[2]) is not None


def wants(field: str, message: str) -> bool:
    """Whether a message speaks of a `logo` or a photo of the `product` to be placed.

    >>> wants("logo", "An ad with our logo"), wants("logo", "No logo, please")
    (True, False)
    """
    wanted = rf"\b(?:{_WANTED[field]})"
    return bool(re.search(wanted, message, re.I)) and not re.search(rf"\b{_UNWANTED}{wanted}", message, re.I)


def without_placed(message: str) -> str:
    """The message without the pictures that it wants to have placed.

    >>> without_placed("An ad with tent.png and our logo for the summer sale")
    'An ad for the summer sale'
    """
    return _PLACED.sub("", message)


def count(message: str, sizes: int = 1, headline: bool = False) -> int:
    """How many pictures a message orders: the number it gives, at most `PICTURES_MAX`, else one, or `SEVERAL` for a
    plural without a `headline`; at least one of each of its `sizes`.

    >>> count("Draw three ads for tents"), count("Make a 9:16 banner"), count("Make ads")
    (3, 1, 2)
    """
    near = WISH.search(message) or _COUNTED.search(message)
    said = _NOT_A_COUNT.sub(" ", near[0].casefold()) if near else ""
    given = [
        int(word) if re.fullmatch("[0-9]{1,2}", word) else _NUMBERS.get(word, 0) for word in re.findall(r"\w+", said)
    ]
    usual = SEVERAL if near and _SEVERAL.search(near[0]) and not headline else 1
    return max(sizes, min(max(given, default=0) or usual, PICTURES_MAX))


def sizes(message: str) -> list[str]:
    """The sizes that a message orders, in its order; none when it names none.

    >>> sizes("Two ads in square and 9:16"), sizes("An ad for our story")
    (['square', 'story'], [])
    """
    said = " ".join(found[0] for found in (*_SIZED.finditer(message), *_SIZES_SAID.finditer(message)))
    found = [(match.start(), name) for name, size in _SIZES.items() if (match := re.search(size, said, re.I))]
    return [name for _, name in sorted(found)]


def without_command(message: str) -> str:
    """What a picture is to be about: the message without the words that order the picture.

    >>> without_command("Please create 3 ads for our summer sale in 9:16")
    'our summer sale'
    """
    return _COMMAND.sub("", _SIZES_SAID.sub("", message), count=1).strip().lstrip(".,:;! ")
