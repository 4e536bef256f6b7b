"""What each part of an answer rests on, and so the whole answer (docs/api/models.md "What an answer rests on")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, get_args

from agentsvc_nb.formats.plans.results import Result
from agentsvc_nb.formats.safe_text import escape
from agentsvc_nb.wire.limits import HEADLINE_CHARS
from agentsvc_nb.wire.runs import AnswerBasis, Basis
from agentsvc_nb.wire.text import label

RESULTS: Final = ("computed", "looked_up")
_ORDER: Final = get_args(Basis)


@dataclass(frozen=True)
class AnswerPart:
    """A part of an answer, in Markdown, and what it rests on; `found` is what was computed of tables, `after` the
    questions that this one goes on from."""

    text: str
    basis: AnswerBasis
    found: Result | None = None
    after: tuple[str, ...] = ()


def result(basis: Basis, headline: str, values: Sequence[str], rest: str) -> AnswerPart:
    """A result: its headline, which is plain text and the only bold text of an answer, and Markdown below it."""
    line = label(headline, HEADLINE_CHARS)
    made = AnswerBasis(basis=basis, headline=line, values=list(values))
    return AnswerPart(f"**{escape(line)}**\n\n{rest}", made)


def without_result(basis: Basis, text: str) -> AnswerPart:
    return AnswerPart(text, AnswerBasis(basis=basis))


def whole(parts: Sequence[AnswerBasis]) -> AnswerBasis | None:
    """What an answer of these parts rests on: the first of its results, with the values of all; without a result, the
    part whose basis comes first in the list of them. None without parts."""
    results = [part for part in parts if part.basis in RESULTS]
    if results:
        values = [value for part in results for value in part.values]
        return AnswerBasis(basis=results[0].basis, headline=results[0].headline, values=values)
    return min(parts, key=lambda part: _ORDER.index(part.basis), default=None)
