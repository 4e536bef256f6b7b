"""Words of a question: stop words, stems, and a small table of word vectors for words that mean alike."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

import numpy as np
from numpy.typing import NDArray

from agentsvc_nb.documents.queries import tokens

_STOP = """
a about above after again all also am an and any are as at be been being but by can could did do does doing each ever
every few for from further get give gives had has have having he her here hers him his how i if in into is it its
itself just know let like many me mention mentioned mentions more most much must my no nor not of off often on once
only or other our out over own please same say says said she should show so some such tell than that the their them
then there these they this those to too under until up us use very want was we were what whats when where which while
who whom whose why will with would you your according answer anything explain find list quote describe summarise
summarize summary document documents file files text chat does
aber alle als am an auch auf aus bei bin bis bitte da dann das dass dein dem den der des die dies diese dieser
dieses doch du durch ein eine einem einen einer eines er es etwas fur gib gibt haben hat hatte ich ihr im in ist ja
jede jeder kann kein keine man mein mir mit nach nicht noch nun nur ob oder ohne sagt sagen sehr sein seine sich
sie sind so soll steht uber um und uns unser unter viel vom von vor war was welche welchen welcher welches wenn wer wie
wieso wir wird wo worum laut gemass zufolge zeig zeige zu zum zur zusammen datei dateien
au aux avec ce ces cet cette comment dans de des dis dit donne du elle elles en est et etre fait il ils je la le
les leur leurs lui ma mais me mes moi mon montre ne nos notre nous ou par parle pas plus pour pourquoi qu quand que
quel quelle quelles quels qui quoi sa sans se ses si son sont sur ta te tes toi ton tous tout toute toutes tu un
une vos votre vous fichier fichiers dois
al algo ante como con cual cuales cuando cuanto de del desde dice dicen donde el ella ellas ellos en entre era es
esa ese eso esta estas este esto estos fue ha hay las lo los mas mi mis muestra muy nos nosotros o para pero por
porque que quien se segun ser si sin sobre son su sus tambien te tiene tu un una uno unos y ya yo archivo archivos
dime
"""

STOP: Final = frozenset(_STOP.split())
"""Stop words of English, German, French and Spanish, folded (`documents.normalization.tokens`)."""

_LIGHT = """
go goes going went gone come comes coming came lie lies lay stand stood take takes took taken bring brings brought
get gets got getting given gave make makes made making hold holds held put placed listed showing shown recorded
contain contains contained include includes included exist exists existed occur occurs occurred happen happens happened
appear appears appeared belong belongs live lives lived reach reached achieve achieved obtain obtained receive receives
received earn earned earns gained seen saw work worked lead led played compete competed participate participated ordered
ran number amount column columns table dataset spreadsheet sheet data following respective respectively exactly
everyone everybody calculate compute determine display identify name
hi hello hey thanks roughly approximately approx
gab geht ging gingen liegt liegen lag lagen steht stehen kommt kommen kam kamen macht machen machte gemacht bringt
brachte brachten hatten wurde wurden werden worden erzielt betragt berechne nenne spalte
ont ete vont va viennent calcule colonne hay tienen tuvo tuvieron hubo van vienen hacen fueron columna
"""

LIGHT: Final = frozenset(_LIGHT.split())
"""Words (folded) that tie a row to its values and add no meaning: `guests came in May`, `the table`."""

_WORD = re.compile(r"\b\d{1,3}(?:,\d{3})+(?:\.\d+)?\b|[\w][\w'’.-]*[\w]|\w")
_QUOTED = re.compile(r'"([^"\n]+)"|“([^”\n]+)”|„([^“”\n]+)[“”]|«\s*([^»\n]+?)\s*»')
_ENDINGS: Final = ("ungen", "ations", "ation", "ing", "ers", "ies", "en", "er", "es", "ed", "em", "s", "n", "e", "y")


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A word without its commonest endings: enough for plurals and cases to meet, in four languages.

    >>> stem("audiences") == stem("audience"), stem("margins") == stem("margin"), stem("cups") == stem("cup")
    (True, True, True)
    """
    return _stem(word)


def _stem(word: str) -> str:
    while len(word) > 4 and word.endswith(_ENDINGS):
        ending = next((one for one in _ENDINGS if word.endswith(one) and len(word) - len(one) >= 4), None)
        if ending is None:
            break
        word = word.removesuffix(ending)
    return word[:3] if len(word) == 4 and word[3] == "s" and word[2] not in "su" else word


def stems(text: str) -> list[str]:
    return [stem(token) for token in tokens(text)]


def phrases(text: str) -> list[str]:
    """The quoted phrases of a question, without their quotation marks."""
    return [unicodedata.normalize("NFC", next(part for part in found if part)) for found in _QUOTED.findall(text)]


def content_words(text: str) -> list[str]:
    """The words of a question that say what it is about, in order, each once, as written.

    >>> content_words("What does the brief say about the audience?")
    ['brief', 'audience']
    >>> content_words("Who has the $55,000?")
    ['55,000']
    """
    found: dict[str, str] = {}
    for word in _WORD.findall(text):
        folded = tokens(word)
        if folded and any(token not in STOP for token in folded):
            found.setdefault(" ".join(folded), word)
    return list(found.values())


Vectors = NDArray[np.float32]


class Meanings:
    """Word vectors. A word that is not in the table takes the vector of a word with its stem, or else zeros."""

    def __init__(self, words: Sequence[str], vectors: NDArray[np.int8]) -> None:
        self._rows = {word: row for row, word in enumerate(words)}
        self._stems = {_stem(word): row for row, word in reversed(list(enumerate(words)))}
        self._vectors = vectors

    def __contains__(self, word: str) -> bool:
        """Whether the word is known in this form or another, and so not misspelled."""
        return word in self._rows or stem(word) in self._stems

    def spells(self, word: str) -> bool:
        """Whether the word is known exactly so."""
        return word in self._rows

    def of(self, words: Sequence[str]) -> Vectors:
        """The vectors of the words, one row each: of length 1, or zeros for an unknown word."""
        # The row -1 exists, too: what it gives for an unknown word is multiplied by zero.
        rows = [self._rows.get(word, self._stems.get(stem(word), -1)) for word in words]
        found = self._vectors[rows].astype(np.float32) * (np.array(rows) >= 0)[:, None]
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        return np.asarray(found / np.maximum(lengths, 1e-6), np.float32)


@cache
def meanings() -> Meanings:
    """The word vectors that the package ships."""
    with files(__package__).joinpath("meanings.npz").open("rb") as file, np.load(file) as held:
        return Meanings(held["words"].tobytes().decode().split("\n"), held["vectors"])
