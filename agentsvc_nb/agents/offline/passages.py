"""Quote passages of the chat's files that answer a question, each with its source.

The service's full-text search finds the files, and BM25 ranks their passages. A passage is a whole paragraph or list.
Headings and blank lines separate passages.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.agents.offline.lexicon import AUXILIARY, FILLERS, FUNCTION_WORDS, root, stem, words_of
from agentsvc_nb.agents.offline.writing import AnswerPart, code, quote, without_result
from agentsvc_nb.documents.safe_text import HEADING, escape
from agentsvc_nb.documents.tokens import fold
from agentsvc_nb.tools.workspace_port import Workspace
from agentsvc_nb.wire.text import plain

FILES_MAX: Final = 12
QUERY_CHARS: Final = 200
PASSAGES_MAX: Final = 3
SURE: Final = 0.75
"""A passage counts as an answer if it contains at least this share of the question's words, weighted by rarity."""
NEAR: Final = 0.4
"""A passage that contains less than this share of the question's words, weighted by rarity, is not shown."""
CLOSE: Final = 0.45
"""Besides the best passage, passages are quoted whose BM25 score is at least this share of the best score."""
_K: Final = 1.2
_B: Final = 0.5
_ASKING: Final = words_of(
    "who whom when where why how many much long often there any some about say says said tell told mean means "
    "according explain describe know need want first please could should may might must if or not no file document"
)
_WORD: Final = re.compile(r"[^\W_]+(?:[.,:'’-][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of a file: its text, the number of its first line, its page (0 if the file has no pages), and the
    headings above it.
    """

    path: str
    text: str
    line: int
    page: int
    headings: tuple[str, ...]

    @property
    def source(self) -> str:
        """Return the passage's source in Markdown. Example: `brief.md`, line 12, under “Audience”."""
        under = f", under “{escape(plain(self.headings[-1]))}”" if self.headings else ""
        place = f"page {self.page}" if self.page else f"line {self.line}"
        return f"{code(self.path)}, {place}{under}"


def question_words(question: str) -> list[str]:
    """Return the distinct words of a question to look for in passages."""
    ignored = FUNCTION_WORDS | FILLERS | AUXILIARY | _ASKING
    return list(dict.fromkeys(word for word in _WORD.findall(question) if fold(word) not in ignored))


async def quote_passages(
    question: str, workspace: Workspace, paths: Collection[str], named: Collection[str]
) -> AnswerPart | None:
    """Return the passages that answer or may answer the question, or None if there are none.

    Args:
        paths: The files that may be quoted.
        named: The files that the question names. If there are any, no other files are read.
    """
    words = question_words(question)
    if not words:
        return None
    chosen = [path for path in paths if path in named] if named else await _matching(words, workspace, paths)
    passages = [passage for path in chosen[:FILES_MAX] for passage in split_passages(path, await workspace.text(path))]
    ranked = rank_passages(words, passages)
    if not ranked or ranked[0][1] < NEAR:
        return None
    best = ranked[0][0]
    sure = ranked[0][1] >= SURE and _has_names(question, words, ranked[0][2])
    shown = [
        passage
        for score, covered, passage in ranked[:PASSAGES_MAX]
        if score >= CLOSE * best and covered >= (SURE if sure else NEAR)
    ]
    order = [passage.path for passage in shown]
    shown.sort(key=lambda passage: (order.index(passage.path), passage.line))
    quotes = "".join(quote(passage.text, passage.source) for passage in shown)
    if sure:
        return without_result("quoted", quotes)
    return without_result("near", f"These passages may contain the answer:\n\n{quotes}")


async def _matching(words: Sequence[str], workspace: Workspace, paths: Collection[str]) -> list[str]:
    """Return those of the files that contain some of the words, in the order of the service's search results."""
    query = ""
    for word in dict.fromkeys([*words, *map(stem, words)]):
        longer = f'{query} or "{word}"' if query else f'"{word}"'
        query = longer if len(longer) <= QUERY_CHARS else query
    return [path for path, _ in await workspace.search(query) if path in paths]


def split_passages(path: str, text: str) -> Iterator[Passage]:
    """Yield the passages of a text, in which form feeds separate pages."""
    headings: list[tuple[int, str]] = []
    pages = text.count("\f") > 0
    page, start, lines = 1, 1, list[str]()

    def passage() -> Passage:
        return Passage(path, "\n".join(lines), start, page if pages else 0, tuple(title for _, title in headings))

    number = 0
    for number, raw in enumerate([*text.split("\n"), ""], 1):
        before, *turned = raw.split("\f")
        heading = HEADING.fullmatch(before.strip())
        if lines and (heading or not before.strip()):
            yield passage()
            lines = []
        if heading:
            level = len(heading[1])
            headings = [one for one in headings if one[0] < level] + [(level, heading[2].strip("# "))]
        elif before.strip():
            start = start if lines else number
            lines.append(before.strip())
        for rest in turned:
            if lines:
                yield passage()
            page, lines, start = page + 1, [rest.strip()] if rest.strip() else [], number


def rank_passages(words: Sequence[str], passages: Sequence[Passage]) -> list[tuple[float, float, Passage]]:
    """Return the passages that contain some of the words, best first, as tuples of score, share of the question's
    weight, and passage.

    The words of the headings above a passage count as words of the passage.
    """
    terms = list(dict.fromkeys(map(_term, words)))
    bodies = [Counter(map(_term, _WORD.findall(passage.text))) for passage in passages]
    above = [Counter(map(_term, _WORD.findall(" ".join(passage.headings)))) for passage in passages]
    length = sum(body.total() for body in bodies) / len(bodies) if bodies else 1
    weights = {}
    for term in terms:
        holding = sum(1 for body, heads in zip(bodies, above, strict=True) if body[term] or heads[term])
        weights[term] = math.log(1 + (len(passages) - holding + 0.5) / (holding + 0.5)) + 0.3
    total = sum(weights.values())
    ranked = []
    for passage, body, heads in zip(passages, bodies, above, strict=True):
        covered = sum(weights[term] for term in terms if body[term] or heads[term])
        if not covered:
            continue
        norm = _K * (1 - _B + _B * body.total() / length)
        counts = {term: body[term] + min(heads[term], 1) for term in terms}
        score = sum(weights[term] * counts[term] * (_K + 1) / (counts[term] + norm) for term in terms if counts[term])
        ranked.append((score * (0.5 + covered / total), covered / total, passage))
    return sorted(ranked, key=lambda found: -found[0])


def _term(word: str) -> str:
    return root(fold(word))


def _has_names(question: str, words: Sequence[str], passage: Passage) -> bool:
    """Return True if the passage contains all names and numbers of the question. Without them, it answers another
    question.
    """
    held = set(map(_term, _WORD.findall(" ".join([passage.text, *passage.headings]))))
    first = _WORD.search(question)
    names = [word for word in words if word[0].isdigit() or (word[0].isupper() and (not first or word != first[0]))]
    return all(_term(word) in held for word in names)
