"""What a message asks for: its questions, the files that it names, and the few questions that need no search."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from agentsvc_nb.agents.offline.requests import needs_model, outline_words
from agentsvc_nb.agents.offline.words import content_words
from agentsvc_nb.documents.queries import tokens

_OPEN, _CLOSE = "[\"'`“„«‘]?", "[\"'`”“»’]?"
_GONE = " ; "  # stands for a removed name, so that the words on either side are no neighbours
_LIKE_A_FILE = re.compile(
    rf"{_OPEN}(?<!\w)([\w./-]+\.(?:csv|tsv|xlsx?|md|txt|pdf|docx?|json|html?))(?!\w){_CLOSE}", re.I
)


@dataclass(frozen=True)
class Mentions:
    """The files that a question names: `files` are of the chat, `unknown` are not. `text` is the question without
    them."""

    text: str
    files: frozenset[str]
    unknown: tuple[str, ...]


def mentions(question: str, paths: Iterable[str]) -> Mentions:
    """The files named by path, by name, or by a title of several words.

    >>> mentions("Total cost in 'data/Q3 sales.csv'?", ["data/Q3 sales.csv"]).text
    'Total cost in  ; ?'
    """
    text, files = unicodedata.normalize("NFC", question), set[str]()
    # The longest first: `sales.csv` is a part of `old sales.csv`.
    for path in sorted(paths, key=len, reverse=True):
        whole, name = unicodedata.normalize("NFC", path), PurePosixPath(unicodedata.normalize("NFC", path)).name
        names = [re.escape(whole), re.escape(name)]
        # A title of one word (`sales`) is rather a word of the question.
        if len(words := _words(name)) > 1:
            names.append(r"[\W_]+".join(map(re.escape, words)))
        left = re.sub(rf"{_OPEN}(?<!\w)(?:{'|'.join(names)})(?!\w){_CLOSE}", _GONE, text, flags=re.I)
        if left != text:
            text, files = left, files | {path}
    unknown = tuple(dict.fromkeys(_LIKE_A_FILE.findall(text)))
    return Mentions(_LIKE_A_FILE.sub(_GONE, text), frozenset(files), unknown)


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[\W_]+", PurePosixPath(name).stem) if word]


MESSAGE_CHARS: Final = 10_000
_LONG_RUN = re.compile(r"(\W{16})\W+")


def readable(message: str) -> str:
    """What is read of a message: of a long one its beginning and its end, and of each run of blanks and signs the first
    16. The rules take the cube of a run's length, and stop all other runs meanwhile.

    >>> readable("a" + " " * 2_000 + "b") == "a" + " " * 16 + "b"
    True
    """
    if len(message) > MESSAGE_CHARS:
        message = f"{message[: MESSAGE_CHARS // 2]}\n{message[-MESSAGE_CHARS // 2 :]}"
    return _LONG_RUN.sub(r"\1", message)


QUESTIONS_MAX: Final = 4
QUESTION_CHARS: Final = 2_000
PART_WORDS: Final = 3
REQUESTS_MAX: Final = 20
"""Sentences at the beginning and at the end of a message that may ask for a text: more would stop all other runs."""

_ASKING: Final = (
    r"what|which|who|whom|whose|where|when|why|how|is|are|does|do|did|can|list|show|tell|find|compute|calculate|count|sum|"
    r"was|welche[rsmn]?|wer|wo|wann|warum|wieso|wie|zeig\w*|nenne|berechne|gibt|"
    r"que|qu|quel(?:le)?s?|qui|ou|quand|pourquoi|comment|combien|montre\w*|calcule[rz]?|"
    r"qué|quién|quiénes|dónde|cuándo|cómo|cuál(?:es)?|cuánt[oa]s?|cual(?:es)?|cuant[oa]s?|muestra|calcula"
)
_STARTS = re.compile(rf"[\s¿¡*#>-]*(?:and|und|et|y|e)?\s*(?:{_ASKING})\b", re.I)
_LIMITS = re.compile(
    # Also what is asked for more exactly: `I need the company's name`.
    r"(?:i (?:only |just )?(?:need|want|mean)|i['’]m interested in|i am interested in|ich (?:brauche|meine|will|möchte)"
    r"|je (?:veux|voudrais)|j['’]ai besoin|quiero|necesito|i don['’]?t (?:need|want|mean))\b|"
    r"(?:please |bitte )?(?:ignor(?:e|iere|iert|ez|a|ad)|skip|exclude|leave out|omit|disregard"
    r"|(?:don['’]?t|do not) (?:count|include|consider)|(?:count|include|consider|use) only"
    r"|only (?:count|include|consider|use)|without|not counting|except|excluding|ohne|außer|nur|zähle? nur|sans|sauf"
    r"|exclu(?:s|ez|ye)|seulement|uniquement|ne compte\w* (?:pas|que)|sin|excepto|solo|sólo|no cuentes)\b",
    re.I,
)
_SHORT: Final = (
    "i.e.",
    "e.g.",
    "vs.",
    "approx.",
    "incl.",
    "excl.",
    "z.B.",
    "z. B.",
    "d.h.",
    "d. h.",
    "bzw.",
    "ca.",
    "Nr.",
    "p. ej.",
)
"""With a full stop that ends no sentence."""
_NO_END = "".join(rf"(?<!\b{re.escape(one)})" for one in _SHORT)
_SENTENCE = re.compile(rf"(?<=[?!;？！。])(?!=)\s*|(?<=\.){_NO_END}\s+|\n+", re.I)
_JOINED = re.compile(
    rf",?\s+(?:and|und|et|y|e)\s+(?=(?:{_ASKING}|(?:in|for|to|auf|à|en|de)\s+(?:which|what|welche\w*|quel\w*|qué|cuál\w*))\b)",
    re.I,
)
_TELLS = re.compile(r"\s*(?:i|we|my|our|this|ich|wir|mein\w*|unser\w*|je|j['’]|nous|mon|notre|yo|mi|nuestr\w*)\b", re.I)
_QUOTES = re.compile(r'"[^"\n]*"|“[^”\n]*”|«[^»\n]*»')

_CHAT = re.compile(
    r"(?:(?:hello|hi|hey|hallo|servus|moin|bonjour|salut|hola|thanks?|thank you|danke|merci|gracias|bye|ok|okay|"
    r"test|there|all|"
    r"good (?:morning|afternoon|evening|day)|guten (?:morgen|tag|abend)|"
    r"buen(?:os|as) (?:dias|tardes|noches)|please|bitte|"
    r"help(?: me)?|hilfe|aide|ayuda|what can you do(?: for me)?|"
    r"who are you|how are you|was kannst du(?: tun)?|wer bist du|"
    r"wie gehts|que peux tu faire|que puedes hacer)(?: |$))+"
)
_FILE_WORDS = re.compile(
    r"\b(?:files?|documents?|attachments?|dateien?|dokumente?|fichiers?|archivos?|ficheros?)\b", re.I
)


def split(message: str) -> list[str]:
    """The questions of a message, in order; the message itself when it asks none. At most `QUESTIONS_MAX`, of which the
    last holds all further ones; each is cut at `QUESTION_CHARS`.

    >>> split("I sell tents. Which has the highest margin, and what does the brief say about families?")
    ['Which has the highest margin', 'what does the brief say about families?']
    """
    parts = _with_limits([part.strip(" \t,") for sentence in _sentences(message) for part in _parts(sentence)])
    requests = {part for part in (*parts[:REQUESTS_MAX], *parts[-REQUESTS_MAX:]) if _requests(part)}
    joined = {part for sentence in _sentences(message) for part in _joined(sentence)}
    asking = [part for part in parts if _STARTS.match(part) or part.endswith(("?", "？")) or part in requests | joined]
    asking = [part for part in asking if content_words(part) or about_files(part) or part in requests]
    if len(asking) > QUESTIONS_MAX:
        asking[QUESTIONS_MAX - 1 :] = [" ".join(asking[QUESTIONS_MAX - 1 :])]
    return [part[:QUESTION_CHARS] for part in asking or [message.strip()]]


def _with_limits(parts: Sequence[str]) -> list[str]:
    """A sentence that says what is not to be counted belongs to the question before it: alone it would be lost."""
    made: list[str] = []
    for part in parts:
        if made and _LIMITS.match(part):
            mark = "?" if made[-1].endswith(("?", "？")) else ""
            made[-1] = f"{made[-1].rstrip('?.!？ ')}, {part[0].lower()}{part[1:].rstrip('?.! ')}{mark}"
        else:
            made.append(part)
    return made


def _parts(sentence: str) -> list[str]:
    """The questions that a sentence joins; one whose last is too short to stand alone (`and how many hours?`) whole."""
    parts = _JOINED.split(sentence)
    return [sentence] if len(parts[-1].split()) <= PART_WORDS else parts


def _joined(sentence: str) -> list[str]:
    """The parts of a sentence that ends as a question and joins several, without what only tells of the asker: `mean
    of cost, and how many rows have none?` asks twice."""
    parts = _parts(sentence) if sentence.endswith(("?", "？")) else []
    return [part.strip(" \t,") for part in parts[:-1] if not _TELLS.match(part)]


def _requests(part: str) -> bool:
    """Whether the part asks for a text, a judgement or an outline."""
    return needs_model(part) or outline_words(part) is not None


def _sentences(message: str) -> list[str]:
    """The sentences and lines of a message; text in quotation marks is not split."""
    quoted = [found.span() for found in _QUOTES.finditer(message)]
    cuts = [0]
    for found in _SENTENCE.finditer(message):
        before = bisect_left(quoted, (found.start(),))  # of quotations that begin before it
        if not before or quoted[before - 1][1] <= found.start():
            cuts += [found.start(), found.end()]
    cuts.append(len(message))
    return [text for start, end in zip(cuts[::2], cuts[1::2], strict=True) if (text := message[start:end].strip())]


def asks(sentence: str) -> bool:
    """Whether the sentence begins and ends like a question."""
    return _STARTS.match(sentence) is not None and sentence.rstrip().endswith(("?", "？"))


def chats(message: str) -> bool:
    """Whether the message asks nothing about files: a greeting, thanks, a call for help, or no word at all.

    >>> chats("Hello!"), chats("What can you do?"), chats("Summarise this"), chats("Who helps?")
    (True, True, False, False)
    """
    found = " ".join(tokens(message))
    return not found or _CHAT.fullmatch(found) is not None


def about_files(question: str) -> bool:
    """Whether the question asks which files there are, and nothing more.

    >>> about_files("What files are there?"), about_files("Which file mentions hiking?")
    (True, False)
    """
    return _FILE_WORDS.search(question) is not None and not content_words(question)
