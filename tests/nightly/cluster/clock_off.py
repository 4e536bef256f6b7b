"""`python -m tests.nightly.cluster.clock_off ...`: `agentsvc ...` with a clock that is off by as much as `set_off`
says, at each look."""

from __future__ import annotations

import sys
from pathlib import Path

from agentsvc_nb import clock
from agentsvc_nb.cli import main
from tests.faults.engines import MovableClock


def set_off(data: Path, ms: int) -> None:
    """Of the process with this data folder."""
    folder = _beside(data)
    folder.mkdir(exist_ok=True)
    new = folder / "clock-offset.new"
    new.write_text(str(ms))
    new.rename(folder / "clock-offset")


def _beside(data: Path) -> Path:
    """A data folder itself may hold nothing of ours when the service first starts there."""
    return data.with_suffix(".clock")


if __name__ == "__main__":
    folder = _beside(Path(sys.argv[sys.argv.index("--data") + 1]))
    with clock.replaced(MovableClock(folder)):
        sys.exit(main())
