"""Put a fault into a copy of the client, and see that its tests catch it.

    python -m tests.unit.client.mutants [NAME ...]

Prints a row a mutant, and fails if one survives or if its text is not in the client any more.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[3]
CHOSEN: Final = "not long and not browser and not model and not hosts and not postgres"


@dataclass(frozen=True)
class Change:
    """In this module of the client, text that is there exactly once and what takes its place."""

    module: str
    old: str
    new: str

    def apply(self, client: Path) -> None:
        path = client / self.module
        text = path.read_text("utf-8")
        found = text.count(self.old)
        if found != 1:
            raise SystemExit(f"{self.module} has {found} times {self.old!r}: adapt the mutant to the client.")
        path.write_text(text.replace(self.old, self.new), "utf-8")


MUTANTS: Final[dict[str, tuple[Change, ...]]] = {
    "backoff base changed": (Change("options.py", "first * 2.0 **", "first * 3.0 **"),),
    "Retry-After ignored": (Change("options.py", "if asked is not None:", "if asked is not None and asked < 0:"),),
    "a cut stream restarted from 0": (
        Change("streams.py", 'headers["last-event-id"] = str(self.cursor)', 'headers["last-event-id"] = "0"'),
    ),
    "an event delivered twice": (
        Change("streams.py", "if event.id <= last:", "if event.id < last:"),
        Change("streams.py", "while waiting and waiting[0].id <=", "if waiting and waiting[0].id <="),
    ),
    "key sent to another origin": (Change("origin.py", "return whole if same else None", "return whole"),),
    "deadline ignored": (Change("core.py", "other.deadline = min(", "other.deadline = max(math.inf, "),),
    "POST without key resent": (
        Change("core.py", "return not self.starts_work and self.rewindable", "return self.rewindable"),
    ),
}


def caught_by(name: str) -> str | None:
    """Return the first test that fails on a copy with this mutant, None if the mutant survives."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for part in ("agentsvc_nb", "tests"):
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
        shutil.copy(ROOT / "pyproject.toml", copy)
        for change in MUTANTS[name]:
            change.apply(copy / "agentsvc_nb" / "client")
        environment = os.environ | {"PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        where = [sys.executable, "-c", "import agentsvc_nb; print(agentsvc_nb.__file__)"]
        loaded = subprocess.run(where, cwd=copy, env=environment, capture_output=True, text=True, check=True).stdout
        assert loaded.startswith(folder), f"the tests would load {loaded.strip()}"
        command = [sys.executable, "-m", "pytest", "tests/client", "tests/independent", "-x", "-q", "-m", CHOSEN]
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    assert failed or done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
    return failed[1] if failed else None


def main(names: list[str]) -> int:
    survivors = 0
    for name in names or MUTANTS:
        test = caught_by(name)
        survivors += test is None
        print(f"{name:<30} {test or 'SURVIVED'}", flush=True)
    return min(survivors, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
