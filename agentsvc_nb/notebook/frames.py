"""DataFrames with fixed columns and types, empty ones too; fields that we do not know stand at the end.

pandas is imported on the first call only: loading the extension must not wait for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pandas as pd

_TIME: Final = "datetime64[ns, UTC]"

FILES: Final[Mapping[str, Any]] = {
    "path": "string",
    "file_name": "string",
    "name": "string",
    "kind": "category",
    "media_type": "category",
    "size_bytes": "Int64",
    "updated_at": _TIME,
    "run_id": "string",
    "id": "string",
}
RUNS: Final[Mapping[str, Any]] = {
    "run_id": "string",
    "status": "category",
    "started_at": _TIME,
    "ended_at": _TIME,
    "prompt": "string",
    "chat": "string",
    "base_url": "string",
}


def frame(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, Any], **attrs: str | None) -> pd.DataFrame:
    """A DataFrame of these columns and types, then whatever else the rows have.

    Example: `frame([file.model_dump()], FILES, chat="chat_1").dtypes`
    """
    import pandas as pd

    table = list(rows)
    extra = dict.fromkeys(name for row in table for name in row if name not in columns)
    made = pd.DataFrame.from_records([dict(row) for row in table], columns=[*columns, *extra])
    for name, kind in columns.items():
        made[name] = _times(made[name]) if kind == _TIME else made[name].astype(kind)
    made.attrs.update(attrs)
    return made


def _times(column: pd.Series[Any]) -> pd.Series[Any]:
    import pandas as pd

    times = pd.to_datetime(column.astype("string"), utc=True, format="ISO8601", errors="coerce")
    return times.astype(_TIME)
