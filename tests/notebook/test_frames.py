"""DataFrames keep their columns and types, whatever is in them."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from agentsvc_nb.client.models import frame
from agentsvc_nb.notebook.display import results
from agentsvc_nb.notebook.display.render import size

FILE: dict[str, Any] = {
    "path": "out/a.png",
    "file_name": "a.png",
    "kind": "output",
    "media_type": "image/png",
    "size_bytes": 12,
    "updated_at": "2026-11-21T06:00:00Z",
}


@pytest.mark.parametrize("columns", [results.FILES, results.RUNS], ids=["files", "runs"])
def test_an_empty_frame_has_all_columns_with_their_types(columns: dict[str, str]) -> None:
    empty = frame([], columns)
    assert list(columns) == list(empty.columns)
    assert list(columns.values()) == [str(kind) for kind in empty.dtypes]


def test_types_are_the_same_with_rows_missing_values_and_mixed_times() -> None:
    rows = [FILE, FILE | {"updated_at": "2026-11-21T06:00:00.123Z", "size_bytes": None}, {"path": "b"}]
    made = frame(rows, results.FILES, chat="chat_1")
    assert list(results.FILES.values()) == [str(kind) for kind in made.dtypes]
    assert pd.Timestamp("2026-11-21T06:00:00.123Z") == made["updated_at"][1]
    assert bool(made["updated_at"].isna()[2])
    assert made.attrs == {"chat": "chat_1"}


def test_unknown_fields_stand_at_the_end() -> None:
    made = frame([{"new": {"x": 1}, **FILE}, FILE], results.FILES)
    assert [*results.FILES, "new"] == list(made.columns)


def test_a_time_that_is_none_is_missing_not_an_error() -> None:
    assert bool(frame([FILE | {"updated_at": "soon"}], results.FILES)["updated_at"].isna()[0])


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (48_213, "48 kB"), (2_500_000, "2.5 MB"), (10**13, "10000 GB")],
)
def test_sizes_read_well(count: int, text: str) -> None:
    assert text == size(count)
