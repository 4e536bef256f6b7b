"""A cluster keeps its promises under mixed load, while its parts are killed, frozen and cut off
(docs/decisions/0059-a-history-is-checked.md)."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from tests.nightly.cluster import rules
from tests.nightly.cluster.checked import Load, report, run
from tests.nightly.cluster.history import History

MOST_SECONDS = 12.0
"""How long a dead worker's run may wait, as it is measured here, of the 10 s that are promised
(docs/decisions/0102-procrastinate.md): a look at the runs comes every 0.25 s at best, on a machine that all share."""


@pytest.mark.timeout(1500)
def test_eight_minutes(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "history.jsonl"
    with contextlib.closing(History(path)) as history:
        run(history, Load(seconds=480, seed=seed, frozen=30, every=14, clients=8))
    print("\n".join(report(history)))
    broken = rules.check(history.facts)
    assert not broken, f"{broken}\nof the history in {path}"
    resumed = rules.resumed_after(history.facts)
    assert resumed
    assert [each for each in resumed if each[2] > MOST_SECONDS] == []
