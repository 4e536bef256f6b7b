"""The turns of this kernel in order: which turn precedes a cell, and which cells have run already."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """One execution of a cell. Without cell ids (terminals, nbclient), `cell` is a hash of its text."""

    cell: str
    execution: int


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """A turn. `key` is the idempotency key of its start, which is known before the run has an id."""

    place: Place
    address: str
    key: str


class ExecutionHistory:
    """The turns of this kernel and the fingerprints of its cells; decides which runs may be shown again."""

    def __init__(self) -> None:
        self._visits: list[TurnRecord] = []
        self._fingerprints: set[str] = set()

    def first(self, fingerprint: str) -> bool:
        """Whether this kernel has run no cell with this fingerprint yet."""
        return fingerprint not in self._fingerprints

    def mark(self, fingerprint: str) -> None:
        self._fingerprints.add(fingerprint)

    def add(self, visit: TurnRecord) -> None:
        self._visits.append(visit)

    def before(self, place: Place, address: str | None) -> str:
        """Return the key of the turn that precedes a cell at an address (None: any address); empty if none does.

        Earlier executions of the same cell directly before it do not count: after a restart the cell is run once, and
        the cells below must find the same turn before them as now.
        """
        visits = [visit for visit in self._visits if address in (None, visit.address)]
        while visits and visits[-1].place.cell == place.cell and visits[-1].place.execution != place.execution:
            visits.pop()
        return visits[-1].key if visits else ""
