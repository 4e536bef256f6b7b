"""What users import, type and call is what it was: a change here is meant, and stands in the changelog."""

from __future__ import annotations

import difflib

from tests.unit.repository import public_surface


def test_the_public_surface_is_what_it_was() -> None:
    before, now = public_surface.KEPT.read_text().splitlines(), public_surface.lines()
    changed = [line for line in difflib.ndiff(before, now) if line[0] in "+-"]
    assert not changed, "\n".join([*changed, "If it is meant: python -m tests.unit.repository.public_surface"])
