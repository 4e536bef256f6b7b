"""Convert integer milliseconds since 1970, which the service uses, to RFC 3339 texts in UTC, which the API uses."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from functools import lru_cache


def rfc3339(ms: int) -> str:
    """Return the time as an RFC 3339 text.

    >>> rfc3339(0)
    '1970-01-01T00:00:00.000Z'
    """
    return f"{_second(ms // 1000)}.{ms % 1000:03}Z"


def utc_day(ms: int) -> str:
    """Return the UTC day of a time. An Idempotency-Key is valid for one such day (docs/api/runs.md "Idempotency keys").

    >>> utc_day(0)
    '1970-01-01'
    """
    return _utc(ms).date().isoformat()


def utc_month(ms: int) -> str:
    """Return the UTC month of a time. Charges are added up by UTC month (docs/api/accounts.md "Money").

    >>> utc_month(0)
    '1970-01'
    """
    return utc_day(ms)[:7]


def month_end(ms: int) -> int:
    """Return the end (ms) of the UTC month that contains `ms`.

    >>> rfc3339(month_end(0))
    '1970-02-01T00:00:00.000Z'
    """
    begins = _utc(ms).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return round((begins + timedelta(days=31)).replace(day=1).timestamp() * 1000)


def local_day(ms: int) -> str:
    """Return the calendar day that contains `ms`, in the time zone of this machine."""
    return _local(ms).date().isoformat()


def local_day_end(ms: int) -> int:
    """Return the end (ms) of the day that contains `ms`, in the time zone of this machine."""
    tomorrow = _local(ms).date() + timedelta(days=1)
    # Convert to local time after adding the day, because a day may have 23 or 25 hours.
    return round(datetime.combine(tomorrow, time()).astimezone().timestamp() * 1000)


@lru_cache(4096)  # consecutive events often have the same second, and records are often read again
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()[:19]


def _local(ms: int) -> datetime:
    return _utc(ms).astimezone()


def _utc(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
