"""Files as people have them, made up: words by Zipf's law, some with diacritics, some CJK, about 1.9 KB a file."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

VOCABULARY = 20_000
LENGTHS = (100, 200, 300, 300, 400, 500)
RARE = 10_000
"""Names are of words from here on: files that are found by name need no ranking, and would hide what that costs."""
ENDINGS = ("txt", "md", "csv", "html")


@dataclass(frozen=True)
class Made:
    name: str
    words: list[str]

    @property
    def text(self) -> str:
        return " ".join(self.words)


class Corpus:
    """Files and queries that come out the same each time."""

    def __init__(self, seed: int = 1) -> None:
        self._chance = random.Random(seed)
        self.words = self._vocabulary()
        self._weights = [*accumulate(1 / (place + 2) for place in range(VOCABULARY))]

    def file(self, number: int) -> Made:
        words = self._chance.choices(self.words, cum_weights=self._weights, k=self._chance.choice(LENGTHS))
        return Made(f"{self._chance.choice(self.words[RARE:])}-{number}.{ENDINGS[number % 4]}", words)

    def queries(self, sample: list[Made], count: int) -> dict[str, list[str]]:
        """`count` queries of each kind; phrases and names are taken from the sample."""
        kinds: dict[str, Callable[[], str]] = {
            "a common word": lambda: f"{self._common()} ",
            "a less common word": lambda: f"{self._some()} ",
            "a prefix of 1 letter": lambda: self._common()[:1],
            "a prefix of 2 letters": lambda: self._common()[:2],
            "a prefix of 3 letters": lambda: self._common()[:3],
            "a prefix of 4 letters or more": lambda: self._long()[:-1],
            "two common words": lambda: f"{self._common()} {self._common()} ",
            "words and a prefix": lambda: f"{self._common()} {self._some()} {self._common()[:2]}",
            "a phrase": lambda: self._phrase(sample),
            "or": lambda: f"{self._common()} or {self._some()} ",
            "an exclusion": lambda: f"{self._common()} -{self._common()} ",
            "a file's name": lambda: self._chance.choice(sample).name,
            "what many names have": lambda: f"{self._chance.choice(ENDINGS)} ",
        }
        return {kind: [make() for _ in range(count)] for kind, make in kinds.items()}

    def _common(self) -> str:
        return self._chance.choice(self.words[:50])

    def _some(self) -> str:
        return self._chance.choice(self.words[50:2_000])

    def _long(self) -> str:
        return self._chance.choice([word for word in self.words[:200] if len(word) > 4])

    def _phrase(self, sample: list[Made]) -> str:
        words = self._chance.choice(sample).words
        at = self._chance.randrange(len(words) - 1)
        return f'"{words[at]} {words[at + 1]}"'

    def _vocabulary(self) -> list[str]:
        words = dict[str, None]()
        while len(words) < VOCABULARY:
            words[self._word()] = None
        return [*words]

    def _word(self) -> str:
        if self._chance.random() < 0.05:
            return "".join(chr(0x4E00 + self._chance.randrange(300)) for _ in range(2))
        vowels = "aeiou" if self._chance.random() < 0.9 else "aeiouéüåø"
        return "".join(
            self._chance.choice("bcdfghklmnprstvwz") + self._chance.choice(vowels)
            for _ in range(self._chance.randint(1, 4))
        )
