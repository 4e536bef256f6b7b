"""The turns that this kernel has shown, in order: what stood before a cell, and which cells have run already."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A cell and one execution of it. Without cell ids (terminals, nbclient) the prompt stands for the cell."""

    cell: str
    execution: int


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """A turn: `key` is the idempotency key that it was started with, known before its run."""

    place: Place
    address: str
    key: str


class ExecutionHistory:
    def __init__(self) -> None:
        self._visits: list[TurnRecord] = []
        self._fingerprints: set[str] = set()

    def first(self, fingerprint: str) -> bool:
        """Whether this kernel has not run a cell with this fingerprint yet."""
        return fingerprint not in self._fingerprints

    def mark(self, fingerprint: str) -> None:
        self._fingerprints.add(fingerprint)

    def add(self, visit: TurnRecord) -> None:
        self._visits.append(visit)

    def before(self, place: Place, address: str | None) -> str:
        """The key of the turn before this one, at an address (None: anywhere); empty for the first.

        A cell that is run again, edited or not, takes the place of its own last runs: after a restart, only its last
        run is asked for, and what follows must find the same turn before it.
        """
        visits = [visit for visit in self._visits if address in (None, visit.address)]
        while visits and visits[-1].place.cell == place.cell and visits[-1].place.execution != place.execution:
            visits.pop()
        return visits[-1].key if visits else ""
