"""`map`: one question over the rows of a DataFrame, many at once (docs/api/runs.md "Idempotency keys").

The DataFrame may be of any library: pandas is handled here, the others (polars, pyarrow, modin, ...) through narwhals,
which has no dependencies and is imported only for them. Index, order and library stay the same.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar, Unpack

from agentsvc_nb.client import models
from agentsvc_nb.client.core import Core
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.client.faces import Resource
from agentsvc_nb.client.files import AsyncFiles
from agentsvc_nb.client.models import Shape
from agentsvc_nb.client.options import WaitOptions, hook, wait_seconds, whole
from agentsvc_nb.client.references import ChatRef, IdRef, identifiers, optional
from agentsvc_nb.client.uploads import FileInput
from agentsvc_nb.extras import pip_install
from agentsvc_nb.wire.limits import WAIT_SECONDS
from agentsvc_nb.wire.runs import Effort

if TYPE_CHECKING:
    from agentsvc_nb.client.batch_rows import Columns, Grid
    from agentsvc_nb.client.batch_runner import OnRows

Frame = TypeVar("Frame")
CONCURRENCY: Final = 8


class MapStopped(KeyboardInterrupt):
    """A `map` was interrupted. `partial` is the DataFrame with the rows that were answered; asked for again, the same
    `map` goes on from there."""

    def __init__(self, answered: int, total: int, partial: object) -> None:
        super().__init__(f"Stopped: {answered} of {total} rows are answered; the same call goes on from there.")
        self.partial = partial


async def map_(
    self: Resource,
    frame: Frame,
    message: str,
    *,
    schema: Shape | None = None,
    key: str | None = None,
    project: IdRef | None = None,
    model: IdRef | None = None,
    effort: Effort | None = None,
    files: Sequence[FileInput] = (),
    file_ids: Sequence[IdRef] = (),
    files_from: ChatRef | None = None,
    max_concurrency: int = CONCURRENCY,
    max_cents: float | None = None,
    tries: int = 1,
    timeout: float | None = WAIT_SECONDS,
    prefix: str = "",
    salt: str = "",
    keep: str | os.PathLike[str] | None = None,
    on_progress: OnRows | None = None,
    **options: Unpack[WaitOptions],
) -> Frame:
    """Ask the same of each row of a DataFrame, and get the DataFrame back with the answers as new columns.

    Each row has a chat of its own. The rows keep their order, and what fails fails in its row: `error` says why. The
    same call goes on where an earlier one was interrupted; no answer is paid for twice on one UTC day, and with `keep`
    on no day.

    Args:
        frame: a DataFrame of pandas; of polars, pyarrow and others with narwhals.
        message: what to ask; `{{column}}` is the row's value, as text.
        schema: what each answer must fit: a pydantic model, a dataclass or a JSON Schema; its fields become the
            columns. Without it there is one column, `answer`.
        key: the column that tells the rows apart; without it rows that ask the same are told apart by their order.
        project: a `proj_...` id or UUID, or a project, for the chats.
        model, effort: as of `runs.start`; what another model answered is asked anew.
        files, file_ids: what each row is judged against, at most 10; as of `runs.start`, and sent once for all rows.
        files_from: a chat whose files each row's chat begins with.
        max_concurrency: how many rows are asked at once; fewer while the service is busy.
        max_cents: what all rows may cost together, earlier calls included. No row is begun that could cost more, going
            by the dearest so far.
        tries: how many runs a row may have, earlier calls of this day included, when they fail.
        timeout: seconds for each row, 20 minutes unless given; None: no limit.
        prefix: what the names of the new columns begin with.
        salt: another text than before asks everything anew.
        keep: a file that keeps the answers, for calls on other days.
        on_progress: is called with a `MapProgress` after each row, and when one takes long, from here.

    Raises:
        StefanBrainError: refused before the first answer: an unknown column, a wrong schema, no money left.
        APIConnectionError: the service cannot be reached.
        MapStopped: a `KeyboardInterrupt`; its `partial` is the DataFrame so far.

    Options: `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

    >>> client.map(df, "Classify: {{text}}", schema=Label, max_concurrency=8, max_cents=50)  # doctest: +SKIP
    """
    # Here, because every program that makes a client imports this module, and few map.
    from agentsvc_nb.client import batch_rows as rows
    from agentsvc_nb.client.batch_runner import BatchOptions, BatchRunner

    grid = grid_of(frame)
    config = models.schema(schema)
    kinds = rows.fields(config)
    rows.checked(grid, kinds, prefix)
    tries, max_concurrency = whole("tries", tries, least=1), whole("max_concurrency", max_concurrency, least=1)
    on_progress = hook("on_progress", on_progress)
    if max_cents is not None and not (isinstance(max_cents, int | float) and max_cents > 0):
        raise StefanBrainError(f"`max_cents` must be a number over 0, not {max_cents!r:.80}; nothing was sent.")
    core, project, model = self._core.scoped(options), optional("project", project), optional("model", model)
    choice = {name: value for name, value in (("model", model), ("effort", effort)) if value is not None}
    about = {"schema": config, "project": project, "salt": salt, **choice}
    asked = rows.rows(grid, message, key, about)  # before a file is sent: this checks the message and the key
    staged, beside = await _beside(core, files, file_ids, files_from)
    if beside:
        asked = rows.rows(grid, message, key, about | {"files": beside})

    def so_far() -> Frame:
        made: Frame = grid.extended(rows.answer_columns(asked, kinds, schema, prefix))
        return made

    cache = await core.io.call(lambda: rows.ResultCache(keep))
    batch_options = BatchOptions(
        schema,
        project,
        model,
        effort,
        max_concurrency,
        max_cents,
        tries,
        wait_seconds(timeout),
        staged,
        optional("chat", files_from),
    )
    runner = BatchRunner(core, asked, batch_options, cache, on_progress, so_far)
    try:
        await runner.all()
    except KeyboardInterrupt:
        raise MapStopped(runner.answered, len(asked), so_far()) from None
    return so_far()


async def _beside(
    core: Core, files: Sequence[FileInput], given: Sequence[IdRef], source: ChatRef | None
) -> tuple[list[str], list[Any]]:
    """Stage the files, and return the ids of all with what the answers depend on: contents, and the chat's files."""
    ids = identifiers("file_ids", given)
    staged = await AsyncFiles(core).upload(*files)
    listed = await AsyncFiles(core).list(source).all() if source is not None else []
    known = [getattr(each, "sha256", each) for each in given] + [file.sha256 for file in staged]
    return [*ids, *(file.id for file in staged)], [*known, *([file.path, file.id] for file in listed)]


# -- DataFrames -----------------------------------------------------------------------------------------------------

_NARWHALS: Final = {"string": "String", "Int64": "Int64", "Float64": "Float64", "boolean": "Boolean"}


def grid_of(frame: Any) -> Grid:
    """The `Grid` over a DataFrame of any library.

    Raises `StefanBrainError` for an object that is no DataFrame, and for one of another library than pandas if narwhals
    is not installed.
    """
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(frame, pandas.DataFrame):
        return _Pandas(frame)
    try:
        import narwhals as nw
    except ImportError:
        raise StefanBrainError(
            f"A {_kind(frame)} needs narwhals; nothing was sent.", hint=pip_install("frames")
        ) from None
    try:
        return _Narwhals(nw.from_native(frame, eager_only=True))
    except TypeError:
        raise StefanBrainError(
            f"A {_kind(frame)} is no DataFrame that can be asked over; nothing was sent.",
            hint="Give a DataFrame of pandas, polars or pyarrow; collect() a lazy one first.",
        ) from None


@dataclass(frozen=True)
class _Pandas:
    frame: Any

    @property
    def names(self) -> list[str]:
        return [str(label) for label in self.frame.columns]

    @property
    def height(self) -> int:
        return len(self.frame)

    def values(self, name: str) -> list[Any]:
        column = self.frame.iloc[:, self.names.index(name)]
        return [None if gone else value for value, gone in zip(column.tolist(), column.isna(), strict=True)]

    def extended(self, columns: Columns) -> Any:
        import pandas as pd

        rows = ({name: values[row] for name, (_, values) in columns.items()} for row in range(self.height))
        made = models.frame(rows, {name: kind for name, (kind, _) in columns.items()})
        made.index = self.frame.index
        return pd.concat([self.frame, made], axis=1)


@dataclass(frozen=True)
class _Narwhals:
    frame: Any

    @property
    def names(self) -> list[str]:
        return list(self.frame.columns)

    @property
    def height(self) -> int:
        return len(self.frame)

    def values(self, name: str) -> list[Any]:
        # NaN is the only value that does not equal itself.
        return [None if value != value else value for value in self.frame[name].to_list()]

    def extended(self, columns: Columns) -> Any:
        import narwhals as nw

        def made(name: str, kind: str, values: Sequence[Any]) -> Any:
            wanted = getattr(nw, _NARWHALS[kind]) if kind in _NARWHALS else None
            return nw.new_series(name, list(values), wanted, backend=self.frame.implementation)

        new = [made(name, kind, values) for name, (kind, values) in columns.items()]
        return self.frame.with_columns(*new).to_native()


def _kind(frame: Any) -> str:
    return f"{type(frame).__module__.partition('.')[0]}.{type(frame).__name__}"
