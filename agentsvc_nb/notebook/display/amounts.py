"""Amounts as a reader wants them: money, shares, bytes, times."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from agentsvc_nb.wire.runs import CENT


def cost(microcents: int) -> str:
    """Money as a reader wants it: `0.42 cents`, `$1.30`."""
    cents = microcents / CENT
    if cents >= 100:
        return f"${cents / 100:,.2f}"
    return f"{cents:.2f} cents" if cents >= 0.01 or not cents else "under 0.01 cents"


def percent(done: object, total: object) -> str:
    if not isinstance(done, int | float) or not isinstance(total, int | float) or total <= 0:
        return ""
    return f"{min(100, max(0, round(100 * done / total)))} %"


def moment(time: str | None) -> str:
    """A time of the service on this machine's clock: `21 Nov 13:05`."""
    try:
        return f"{datetime.fromisoformat(time or '').astimezone():%d %b %H:%M}"
    except ValueError:
        return ""


_UNITS: Final = ("B", "kB", "MB", "GB")


def size(count: int) -> str:
    """Bytes for people: `482 kB`."""
    if count < 1000:
        return f"{count} B"
    power = min(3, (len(str(count)) - 1) // 3)
    amount = count / 1000**power
    return f"{amount:.0f} {_UNITS[power]}" if amount >= 10 else f"{amount:.1f} {_UNITS[power]}"
