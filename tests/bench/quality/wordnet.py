"""WordNet's own files: its synonyms, glosses and what its words derive from."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_RELATED = {"@", "@i", "&", "+"}  # hypernyms, similar adjectives, derivations
_PARTS = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
_PLAIN = re.compile("[a-z]{3,}")


@dataclass(frozen=True)
class Sense:
    """One meaning: the words that have it, the places of related meanings, its gloss without examples."""

    words: list[str]
    related: list[str]
    gloss: str


@dataclass
class WordNet:
    """All senses by place; the places of a word's senses, commonest first; how often it was met, and in glosses."""

    senses: dict[str, Sense] = field(default_factory=dict)
    of_word: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    met: Counter[str] = field(default_factory=Counter)
    in_glosses: Counter[str] = field(default_factory=Counter)

    @classmethod
    def read(cls, folder: Path) -> WordNet:
        """From a folder with `data.noun`, `index.sense` and the like."""
        net = cls()
        for letter, part in _PARTS.items():
            for place, sense in _senses(letter, (folder / f"data.{part}").read_text("utf-8")):
                net.senses[place] = sense
                net.in_glosses.update(set(words(sense.gloss)))
                for word in sense.words:
                    if _PLAIN.fullmatch(word):
                        net.of_word[word].append(place)
        for line in (folder / "index.sense").read_text("utf-8").splitlines():
            key, _, _, count = line.split()
            net.met[key.partition("%")[0]] += int(count)
        return net

    def common(self) -> list[str]:
        """Words that somebody uses: met in a text or a gloss, or of several meanings."""
        return [
            word
            for word, places in self.of_word.items()
            if self.met[word] or self.in_glosses[word] or len(places) > 1
        ]  # fmt: skip


def words(text: str) -> list[str]:
    return re.findall("[a-z]+", text.lower())


def _senses(letter: str, text: str) -> Iterator[tuple[str, Sense]]:
    for line in text.splitlines():
        if line.startswith("  "):  # the licence, at the top
            continue
        head, gloss = line.split("|", 1)
        fields = head.split()
        count = int(fields[3], 16)
        names = [re.sub(r"\(.*\)", "", fields[4 + 2 * number]) for number in range(count)]
        links = fields[5 + 2 * count :]
        pairs = [(links[4 * at], links[4 * at + 2] + links[4 * at + 1]) for at in range(int(fields[4 + 2 * count]))]
        related = [place for sign, place in pairs if sign in _RELATED]
        yield letter + fields[0], Sense(names, related, gloss.split('"')[0])
