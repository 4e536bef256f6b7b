"""The transcripts in docs/cli.md are what a terminal shows."""

from __future__ import annotations

import sys

import pytest

from docs import cli_transcripts


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
@pytest.mark.sqlite("plays with the embedded service")
def test_they_are_as_they_are_kept() -> None:
    assert cli_transcripts.play() == cli_transcripts.KEPT.read_text(), "run `python -m docs.cli_transcripts`"
