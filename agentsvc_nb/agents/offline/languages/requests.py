"""What the offline agent knows of a language to tell what a message wants of it, beside questions about tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agentsvc_nb.formats.normalization import tokens

ANY: Final = "*"
"""In a phrase: up to six words."""


@dataclass(frozen=True)
class Requests:
    """Folded phrases, divided by `|`; `*` in one stands for up to six words.

    markers: words that occur in no other of our languages, and so tell the language of a question.
    polite: what may stand before a command. commands: what needs a model when a message begins with it; infinitives:
    when a question that begins politely ends with it. verbs need one of `objects` behind them, makers one of `texts`.
    opinions: what asks for a judgement anywhere, judged: as the last word of a question that begins with `is_it`.
    describes: what asks for a description of one of `pictures`. summaries: what asks for a summary, at the beginning;
    shapes: words that say how it is to look. amounts: beginnings of questions whose answer holds a number or a time;
    numbers: words that are one. irregular: forms of a word whose beginning differs, the word first.
    """

    markers: str
    polite: str
    commands: str
    infinitives: str
    verbs: str
    objects: str
    makers: str
    texts: str
    opinions: str
    is_it: str
    judged: str
    describes: str
    pictures: str
    summaries: str
    shapes: str
    amounts: str
    numbers: str
    irregular: str = ""


def phrases(data: str) -> list[str]:
    """The phrases of a field as they are compared: folded, words divided by a blank.

    >>> phrases("qu'est-ce que|résume")
    ['qu est ce que', 'resume']
    """
    return [" ".join(ANY if word == ANY else " ".join(tokens(word)) for word in one.split()) for one in data.split("|")]
