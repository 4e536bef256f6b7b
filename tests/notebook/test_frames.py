"""DataFrames keep their columns and types, whatever is in them."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from agentsvc_nb.client.models import frame
from agentsvc_nb.notebook.display import results

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
