"""`python -m tests.cluster.clock_off ...`: `agentsvc ...` with a clock that is off by as many milliseconds as the file
beside its data folder says, at each look. The service's own port for the clock is what is replaced."""

from __future__ import annotations

import sys
from pathlib import Path

from agentsvc_nb.cli import main
from agentsvc_nb.service import app
from agentsvc_nb.service.runner.storage import SystemClock


def _file(folder: Path) -> Path:
    return folder.with_suffix(".clock")


def set_off(folder: Path, ms: int) -> None:
    written = folder.with_suffix(".new")
    written.write_text(str(ms))
    written.rename(_file(folder))


def _begin(folder: Path) -> None:
    class ClockOff(SystemClock):
        def now(self) -> int:
            return super().now() + int(_file(folder).read_text())

    if not _file(folder).exists():
        set_off(folder, 0)
    setattr(app, "SystemClock", ClockOff)  # noqa: B010 - not assigned for the type checker


if __name__ == "__main__":
    _begin(Path(sys.argv[sys.argv.index("--data") + 1]))
    sys.exit(main())
