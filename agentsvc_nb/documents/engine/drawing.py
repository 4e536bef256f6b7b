"""Draws the chart of a result as a PNG. Called in the process of tables alone: the service never loads matplotlib."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from datetime import date
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, cast

from agentsvc_nb.documents.plans.charts import ChartData, ChartError, ChartKind, choose, days, position
from agentsvc_nb.documents.plans.results import NO_VALUE, Result, ResultColumn, plain, shown
from agentsvc_nb.wire.text import label

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


TICKS_MAX: Final = 9
_SCALES: Final = ((1e12, "T"), (1e9, "bn"), (1e6, "M"))
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DECIMALS_MAX: Final = 8


def axis_title(column: ResultColumn) -> str:
    """The title of a column with its unit; per cent stands at the numbers."""
    title, unit = label(column.title, 80), label(column.unit, 12)
    return f"{title} ({unit})" if unit and unit != "%" and not column.label else title


def numbers(values: Sequence[float], column: ResultColumn) -> list[str]:
    """The numbers along an axis, with as many decimals as tell them apart.

    >>> numbers([0, 500_000, 1_000_000], ResultColumn("revenue", "number", "€", 2))
    ['0', '0.5 M', '1.0 M']
    """
    largest = max(map(abs, values), default=0.0)
    sign = "%" if column.unit == "%" else ""
    if column.label or largest == 0:
        return [f"{value:g}{sign}" for value in values]
    if largest >= 1e15 or largest < 1e-6:
        return [f"{value:.3g}{sign}" for value in values]
    scale, suffix = next(((scale, f" {name}") for scale, name in _SCALES if largest >= scale), (1.0, ""))
    step = _step(values) / scale
    decimals = next(
        (count for count in range(_DECIMALS_MAX) if abs(step - round(step, count)) < step / 1000), _DECIMALS_MAX
    )
    return [f"{value / scale:,.{decimals}f}{suffix}{sign}" if value else f"0{sign}" for value in values]


def _step(values: Sequence[float]) -> float:
    ordered = sorted(set(values))
    return min((after - before for before, after in pairwise(ordered)), default=abs(ordered[0]))


def lines(text: str, width: int, most: int) -> str:
    """A text in at most so many lines of so many characters; what is cut ends with an ellipsis. Nothing in it acts."""
    words = [_hyphenated(word, width) for word in label(text, width * most * 2).split(" ")]
    found = textwrap.wrap(" ".join(words), width)
    if len(found) > most:
        last = found[most - 1][: width - 1].rstrip()
        found = [*found[: most - 1], f"{last}…"]
    return "\n".join(found) or " "


def _hyphenated(word: str, width: int) -> str:
    """A word that is longer than a line, in parts that fit."""
    parts = [word[at : at + width - 1] for at in range(0, len(word), width - 1)] if len(word) > width else [word]
    return "- ".join(parts)


def day_ticks(first: date, last: date) -> list[tuple[date, str]]:
    """The days that an axis names: the first of years or of months, or single days."""
    span = (last - first).days
    if span > 366 * 3:
        return _years(first, last)
    if span > 75:
        return _months(first, last)
    step = max(1, -(-(span + 1) // TICKS_MAX))
    found = [date.fromordinal(day) for day in range(first.toordinal(), last.toordinal() + 1, step)]
    return [(day, f"{day.day} {_MONTHS[day.month - 1]}{_year(day, at == 0 or day.year != found[at - 1].year)}")
            for at, day in enumerate(found)]  # fmt: skip


def _year(day: date, told: bool) -> str:
    return f"\n{day.year:04}" if told else ""


def _years(first: date, last: date) -> list[tuple[date, str]]:
    count = last.year - first.year + 1
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000) if count / step <= TICKS_MAX)
    start = first.year if (first.month, first.day) == (1, 1) else first.year + 1
    years = [year for year in range(start, last.year + 1) if year % step == 0]
    return [(date(year, 1, 1), f"{year:04}") for year in years]


def _months(first: date, last: date) -> list[tuple[date, str]]:
    start = first.year * 12 + first.month - (1 if first.day == 1 else 0)
    end = last.year * 12 + last.month - 1
    step = next(step for step in (1, 2, 3, 6, 12) if (end - start + 1) / step <= TICKS_MAX)
    months = [month for month in range(start, end + 1) if month % step == 0]
    return [
        (day, f"{_MONTHS[day.month - 1]}{_year(day, at == 0 or day.month <= step)}")
        for at, day in enumerate(date(month // 12, month % 12 + 1, 1) for month in months)
    ]


def spread(names: Sequence[str]) -> list[int]:
    """Which of the places are named: all of few, else some at equal distances, as many as there is room for."""
    room = max(2, min(13, 84 // (max(map(len, names), default=0) + 2)))
    return list(range(0, len(names), max(1, -(-len(names) // room))))
