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
"""How long a dead worker's run may wait, as it is measured here, of the 10 s that are promised: a silence of 9 s,
then another worker takes it (docs/decisions/0102-procrastinate.md). Two seconds more, since a look at the runs
comes every 0.25 s at best, and clients, replicas and workers share this machine's processor. `.ci/long` has the machine
to itself."""


def checked(path: Path, load: Load) -> History:
    with contextlib.closing(History(path)) as history:
        run(history, load)
    broken = rules.check(history.facts)
    assert not broken, f"{broken}\nof the history in {path}"
    return history


@pytest.mark.timeout(400)
def test_a_minute(tmp_path: Path) -> None:
    checked(tmp_path / "history.jsonl", Load(seconds=60, seed=1, frozen=12, every=5, clients=5))


@pytest.mark.timeout(1500)
def test_eight_minutes(tmp_path: Path) -> None:
    history = checked(tmp_path / "history.jsonl", Load(seconds=480, seed=2, frozen=30, every=14, clients=8))
    print("\n".join(report(history)))
    resumed = rules.resumed_after(history.facts)
    assert resumed
    assert [each for each in resumed if each[2] > MOST_SECONDS] == []
