"""A query's rows as a picture."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from agentsvc_nb.formats.engine.answers import Plot


def picture(columns: Sequence[str], rows: Sequence[Sequence[Any]], plot: Plot, folder: Path) -> bytes:
    """A PNG; `folder` is for what the library keeps. Raises `duckdb.Error` for rows that can't be drawn."""
    os.environ.setdefault("MPLCONFIGDIR", str(folder))
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    if len(columns) < 2 or not rows:
        raise duckdb.Error("A plot needs at least two columns and a row.")
    figure, axes = pyplot.subplots(figsize=(8, 5), layout="constrained")
    across = [row[0] if isinstance(row[0], int | float) and plot.kind != "bar" else str(row[0]) for row in rows]
    for place, column in enumerate(columns[1:], 1):
        up = [float(row[place]) if row[place] is not None else float("nan") for row in rows]
        {"bar": axes.bar, "line": axes.plot, "scatter": axes.scatter}[plot.kind](across, up, label=column)  # type: ignore[operator]
    axes.set_xlabel(columns[0])
    axes.set_title(plot.title)
    if len(columns) > 2:
        axes.legend()
    else:
        axes.set_ylabel(columns[1])
    if len(rows) > 6:
        axes.tick_params(axis="x", rotation=45)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=120)
    pyplot.close(figure)
    return out.getvalue()
