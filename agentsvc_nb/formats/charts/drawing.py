"""Draws the chart of a result as a PNG. Called in the process of tables alone: the service never loads matplotlib."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

from agentsvc_nb.formats.charts.choosing import ChartData, ChartError, ChartKind, choose, days, position
from agentsvc_nb.formats.charts.labels import axis_title, day_ticks, lines, numbers, spread
from agentsvc_nb.formats.plans.results import Result, ResultColumn
from agentsvc_nb.formats.plans.showing import NO_VALUE, plain, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOTS_PER_INCH: Final = 120
_WIDTH, _HEIGHT = 8.0, 4.6
_INK, _SOFT, _LINE = "#23262a", "#5f6368", "#dfdcd4"
_COLOURS: Final = ("#1f5fa8", "#d97a1e", "#2a9d8f", "#b03a6f", "#6d5bb0", "#8a7d1f", "#7a4a35", "#7a7f87")
_DASHES: Final = ("-", "--", "-.", ":")
"""Series are told apart by more than their colour."""
_SHORT_CHARS: Final = 9
_UPRIGHT_MAX: Final = 12
_BAR_LABELS_MAX: Final = 60
_POINTS_MARKED: Final = 36
_SCRIPTS: Final = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "PingFang SC", "Hiragino Sans", "Microsoft YaHei", "Malgun Gothic",
    "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari", "Noto Sans Thai", "Arial Unicode MS",
)  # fmt: skip
"""Fonts for what the one that comes with matplotlib lacks, where the machine has them."""


def chart(result: Result, title: str, kind: str | None = None) -> bytes:
    """A PNG of 960 pixels across. Raises `ChartError` when there is nothing to compare, or there is no such `kind`."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if kind not in (None, "bar", "line", "scatter"):
        raise ChartError("A chart has bars, a line, or points: bar, line or scatter.")
    data = choose(result, cast("ChartKind | None", kind))
    style: Any = {**_STYLE, "font.family": _families()}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(_WIDTH, _height(data)), dpi=DOTS_PER_INCH, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1)  # type: ignore[union-attr, call-arg]
        axes = figure.add_subplot()
        {"bar": _bars, "line": _lines, "scatter": _points}[data.kind](axes, data)
        figure.suptitle(lines(title, 70, 3), x=0.012, ha="left", fontsize=12.5, fontweight="bold")
        _legend(figure, axes, data)
        if data.note:
            figure.supxlabel(lines(data.note, 120, 2), x=0.01, ha="left", fontsize=8, color=_SOFT)
        out = io.BytesIO()
        canvas: Any = FigureCanvasAgg(figure)
        canvas.print_png(out, metadata={"Title": lines(title, 200, 1), "Software": None})
    return out.getvalue()


_STYLE: Final[dict[str, Any]] = {
    "text.parse_math": False,  # a dollar is a dollar
    "text.usetex": False,
    "axes.unicode_minus": True,
    "font.size": 10,
    "text.color": _INK,
    "axes.labelcolor": _SOFT,
    "axes.edgecolor": _LINE,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": _LINE,
    "grid.linewidth": 0.8,
    "xtick.color": _SOFT,
    "ytick.color": _SOFT,
    "xtick.labelcolor": _INK,
    "ytick.labelcolor": _INK,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "legend.frameon": False,
}


@cache
def _families() -> tuple[str, ...]:
    from matplotlib import font_manager

    there = set(font_manager.get_font_names())
    return ("DejaVu Sans", *(name for name in _SCRIPTS if name in there))


def _height(data: ChartData) -> float:
    if data.kind != "bar" or _stands(data):
        return _HEIGHT
    needed = 0.38 if any("\n" in name for name in _names(data)) else 0.3
    per_bar = max(needed, 0.12 + 0.16 * len(data.series))
    return max(_HEIGHT * 0.62, min(24.0, 1.3 + per_bar * len(data.places)))


def _names(data: ChartData) -> list[str]:
    return [lines(plain(place, data.across), 32, 2) for place in data.places]


def _stands(data: ChartData) -> bool:
    """Whether bars stand: few of them, with short names."""
    short = all(len(name) <= _SHORT_CHARS for name in _names(data))
    return short and len(data.places) * len(data.series) <= 2 * _UPRIGHT_MAX and len(data.places) <= _UPRIGHT_MAX


def _bars(axes: Axes, data: ChartData) -> None:
    upright, count = _stands(data), len(data.series)
    thickness = 0.72 / count
    draw = axes.bar if upright else axes.barh
    told = len(data.places) * count <= _BAR_LABELS_MAX
    for at, series in enumerate(data.series):
        shift = (at - (count - 1) / 2) * thickness
        drawn = [(place + shift, value, exact) for place, (value, exact)
                 in enumerate(zip(series.values, series.exact, strict=True)) if value is not None]  # fmt: skip
        bars = draw([one[0] for one in drawn], [one[1] for one in drawn], thickness * 0.94, color=_COLOURS[at])
        if told and (not upright or count == 1):
            texts = [shown(exact, data.up) for _, _, exact in drawn]
            if all(len(text) <= 16 for text in texts):
                axes.bar_label(bars, texts, padding=3, fontsize=8.5 if count == 1 else 7, color=_SOFT)
    if upright:
        axes.set_xticks(range(len(data.places)), _names(data))
        axes.set(xlabel=axis_title(data.across), ylabel=axis_title(data.up))
        beside = max(0.0, 4 - len(data.places)) / 2 + 0.6
        axes.set_xlim(-beside, len(data.places) - 1 + beside)
    else:
        axes.set_yticks(range(len(data.places)), _names(data))
        axes.set(xlabel=axis_title(data.up), ylabel=axis_title(data.across))
        axes.set_ylim(len(data.places) - 0.5, -0.5)
    axes.grid(visible=False, axis="x" if upright else "y")
    axes.axhline(0, color=_SOFT, lw=0.8) if upright else axes.axvline(0, color=_SOFT, lw=0.8)
    room = 0.12 if told else 0.05
    axes.margins(y=room) if upright else axes.margins(x=room)
    if not any(value for one in data.series for value in one.values):  # nothing but zeros has no extent
        axes.set_ylim(0, 1) if upright else axes.set_xlim(0, 1)
    _number_axis(axes.yaxis if upright else axes.xaxis, data.up)


def _lines(axes: Axes, data: ChartData) -> None:
    places = [position(place) for place in data.places]
    marker = "o" if len(places) <= _POINTS_MARKED else ""
    for at, series in enumerate(data.series):
        up = [float("nan") if value is None else value for value in series.values]
        dash = _DASHES[at % len(_DASHES)]
        alone = _is_alone(up)
        axes.plot(places, up, color=_COLOURS[at], ls=dash, lw=1.9 if marker else 1.4, marker="o" if alone else marker,
                  ms=4)  # fmt: skip
    _across(axes, data, places)
    axes.set(xlabel=axis_title(data.across), ylabel=axis_title(data.up))
    axes.grid(visible=False, axis="x")
    values = [value for one in data.series for value in one.values if value is not None]
    if min(values) >= 0 and min(values) <= 0.7 * max(values):
        axes.set_ylim(bottom=0)
    _number_axis(axes.yaxis, data.up)


def _is_alone(values: Sequence[float]) -> bool:
    """Whether a value stands between gaps, so that no line would show it."""
    gaps = [value != value for value in (float("nan"), *values, float("nan"))]
    return any(not here and before and after for before, here, after in zip(gaps, gaps[1:], gaps[2:], strict=False))


def _across(axes: Axes, data: ChartData, places: Sequence[float]) -> None:
    """The ticks of periods, years or days."""
    if data.across.kind in ("date", "datetime") and data.across.by in ("", "day"):
        found = days(data.places)
        ticks = day_ticks(found[0], found[-1])
        if len(ticks) > 1:
            axes.set_xticks([float(day.toordinal()) for day, _ in ticks], [text for _, text in ticks])
            return
    distinct = list(dict.fromkeys(zip(places, (plain(place, data.across) for place in data.places), strict=True)))
    chosen = [distinct[at] for at in spread([text for _, text in distinct])]
    axes.set_xticks([place for place, _ in chosen], [text for _, text in chosen])


def _points(axes: Axes, data: ChartData) -> None:
    many = len(data.places) > 500
    across, up = [position(place) for place in data.places], data.series[0].values
    axes.scatter(across, cast("Any", up), s=12 if many else 30, alpha=0.45 if many else 0.7, color=_COLOURS[0], lw=0)
    axes.set(xlabel=axis_title(data.across), ylabel=axis_title(data.up))
    _number_axis(axes.xaxis, data.across)
    _number_axis(axes.yaxis, data.up)


def _number_axis(axis: Any, column: ResultColumn) -> None:
    from matplotlib.ticker import Formatter, MaxNLocator

    class Numbers(Formatter):
        def format_ticks(self, values: Sequence[float]) -> list[str]:
            return numbers([float(value) for value in values], column)

        def __call__(self, x: float, pos: int | None = None) -> str:
            return numbers([x], column)[0]

    whole = column.decimals == 0 and not column.quotient
    axis.set_major_locator(MaxNLocator(nbins=7, steps=[1, 2, 2.5, 5, 10], integer=whole))
    axis.set_major_formatter(Numbers())


def _legend(figure: Figure, axes: Axes, data: ChartData) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if len(data.series) < 2:
        return
    names = [lines(_series_name(one.name, data), 34, 2) for one in data.series]
    handles: list[Any] = (
        [Line2D([], [], color=line.get_color(), ls=line.get_linestyle(), lw=2) for line in axes.lines]
        if data.kind == "line"
        else [Patch(color=_COLOURS[at]) for at in range(len(names))]
    )
    widest = max(max(map(len, name.split("\n"))) for name in names)
    # A name that begins with an underscore would be left out of the legend.
    texts = [f" {name}" if name.startswith("_") else name for name in names]
    figure.legend(handles, texts, loc="outside lower left", ncols=max(1, min(len(names), 100 // (widest + 8))),
                  fontsize=9)  # fmt: skip


def _series_name(name: Any, data: ChartData) -> str:
    if data.legend is None:
        return str(name)
    return NO_VALUE if name is None else plain(name, data.legend)
