"""Times on the wire: RFC 3339 in UTC with milliseconds (contract §1); inside, integer milliseconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime


def rfc3339(ms: int) -> str:
    """
    >>> rfc3339(0)
    '1970-01-01T00:00:00.000Z'
    """
    return _utc(ms).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def rfc3339_or_none(ms: int | None) -> str | None:
    return None if ms is None else rfc3339(ms)


def utc_day(ms: int) -> str:
    """The UTC day within which an Idempotency-Key deduplicates (spec.md "Limits").

    >>> utc_day(0)
    '1970-01-01'
    """
    return _utc(ms).date().isoformat()


def _utc(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
