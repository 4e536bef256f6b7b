"""What a process used, from /proc: unlike the clock, it does not count what the machine's other guests do (Linux)."""

from __future__ import annotations

import os
from pathlib import Path

from agentsvc_nb.service.keyring import open_beside
from agentsvc_nb.testing import RunningService


def cpu_seconds(pid: int) -> float:
    """User and system time of all threads so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid: int) -> float:
    """The memory that it holds now."""
    return _status_kb(pid, "VmRSS") / 1024


def peak_mb(pid: int) -> float:
    """The most memory that it ever held."""
    return _status_kb(pid, "VmHWM") / 1024


def _status_kb(pid: int, field: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return int(value.split()[0])
    raise ValueError(f"/proc/{pid}/status has no {field}")


def completed_runs(service: RunningService) -> int:
    """How many runs of its database are completed."""
    with open_beside(service.folder) as database:
        [row] = database.read(lambda tx: tx.all("SELECT COUNT(*) AS runs FROM run WHERE status = 'completed'"))
    return int(row["runs"])
