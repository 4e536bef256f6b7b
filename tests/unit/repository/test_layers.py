"""The import rules of `pyproject.toml` hold."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


SERVICE = ROOT / "agentsvc_nb" / "service"
OWN_TRANSACTIONS = {"access.py", "maintenance.py"}
"""The keys that are known, and the garbage, which is deleted in many transactions, one after the other."""


def test_use_cases_alone_open_transactions() -> None:
    modules = [path for room in ("http", "web", "runner") for path in (SERVICE / room).rglob("*.py")]
    modules += SERVICE.glob("*/routes.py")
    opening = {path.name for path in modules if re.search(r"\blambda tx\b|\bTx\b", path.read_text())}
    assert opening == OWN_TRANSACTIONS


def test_the_import_contracts_are_kept() -> None:
    lint = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    result = subprocess.run([*lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
