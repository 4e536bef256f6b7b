"""How good the offline agent's answers are: every question asked of a real service, each kind's share apart.

python -m tests.bench.quality [--quick]
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from agentsvc_nb import AgentService
from agentsvc_nb.testing import running_service
from agentsvc_nb.wire.limits import ATTACHMENTS_MAX
from tests.bench.quality.judge import first, quotes, right, says_nothing
from tests.bench.quality.questions import FILES, KINDS, Question, questions

PROMISED: Final = {"plain": 0.90, "table": 0.80, "unanswerable": 0.90, "paraphrased": 0.40}
QUICK: Final = 5
"""A short run asks each fifth question of a kind, and so some of both halves."""


@dataclass(frozen=True)
class Asked:
    """A question with its answer, and how many seconds it took."""

    question: Question
    answer: str
    seconds: float

    @property
    def right(self) -> bool:
        return right(self.question, self.answer)


def main(quick: bool) -> None:
    """Ask and print. Raises `SystemExit` when a promised share is not reached."""
    asked = list(ask_all([one for kind in KINDS for one in _of_kind(kind)[:: QUICK if quick else 1]]))
    print("| kind | questions | right | open half | held-out half | promised | gold passage first |")
    print("|---|---|---|---|---|---|---|")
    shares = {kind: _row(kind, [one for one in asked if one.question.kind == kind]) for kind in KINDS}
    _guesses(asked)
    seconds = sorted(one.seconds for one in asked)
    print(f"\nanswers: median {statistics.median(seconds):.2f} s, slowest {seconds[-1]:.2f} s")
    print(f"length: median {statistics.median(len(one.answer) for one in asked):.0f} characters")
    missed = [one.question for one in asked if not one.right and one.question.half == "open"]
    print("missed in the open half: " + ", ".join(question.id for question in missed))
    granted = 1 / QUICK if quick else 0.0  # the few of a short run may miss one more
    if broken := [kind for kind in KINDS if shares[kind] < PROMISED[kind] - granted]:
        raise SystemExit(f"Less than promised: {', '.join(broken)}.")


def _guesses(asked: Sequence[Asked]) -> None:
    """What is right only because passages are shown as near ones: for who wants an answer or none."""
    unanswerable = [not quotes(one.answer) for one in asked if one.question.kind == "unanswerable" and one.right]
    count = sum(1 for one in asked if one.question.kind == "unanswerable")
    paraphrased = [one for one in asked if one.question.kind == "paraphrased" and one.right]
    plainly = [one for one in paraphrased if not says_nothing(one.answer)]
    print(f"\nunanswerable, and no passage shown either: {sum(unanswerable)} of {count}")
    print(
        f"paraphrased, and not as a near passage after 'nothing found': {len(plainly)} of {len(paraphrased)} right ones"
    )


def ask_all(chosen: Sequence[Question]) -> Iterator[Asked]:
    """Each in a turn of its own, in one chat with all the files."""
    paths = sorted(FILES.iterdir())
    with running_service("offline") as service, AgentService(service.api_key, service.base_url) as client:
        chat = client.ask("hello", chat="new").chat
        for begin in range(0, len(paths), ATTACHMENTS_MAX):
            client.files.upload(*paths[begin : begin + ATTACHMENTS_MAX], chat=chat)
        for question in chosen:
            begun = time.perf_counter()
            answer = client.ask(question.question, chat=chat).answer
            yield Asked(question, answer, time.perf_counter() - begun)


def _of_kind(kind: str) -> list[Question]:
    return [question for question in questions() if question.kind == kind]


def _row(kind: str, asked: Sequence[Asked]) -> float:
    halves = [_share([one.right for one in asked if one.question.half == half]) for half in ("open", "held")]
    share, quotes = _share([one.right for one in asked]), bool(asked[0].question.quote)
    leads = f"{_share([first(one.question, one.answer) for one in asked]):.0%}" if quotes else ""
    cells = [f"{len(asked)}", f"**{share:.0%}**", *(f"{half:.0%}" for half in halves), f"{PROMISED[kind]:.0%}", leads]
    print(f"| {kind} | {' | '.join(cells)} |")
    return share


def _share(right: Sequence[bool]) -> float:
    return sum(right) / len(right) if right else 0.0


if __name__ == "__main__":
    main("--quick" in sys.argv)
