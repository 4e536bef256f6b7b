"""docs/cli-transcripts.txt: commands as they are seen in a terminal, played through a pseudo-terminal.

    python -m docs.cli_transcripts

plays them against a service of their own and writes the file, which `python -m docs.tables` puts into docs/cli.md.
`tests/nightly/process/test_cli_transcripts.py` plays them again and compares. Ids, times and addresses are replaced.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Final

KEPT: Final = Path(__file__).with_name("cli-transcripts.txt")
LINES: Final = (
    'agentsvc ask "Which product has the highest price?" --file prices.csv',
    'echo "Who is the audience?" | agentsvc ask - --file brief.md --json | head -4',
    "agentsvc runs list",
    "agentsvc runs show last | head -4",
    "agentsvc files list --chat $CHAT",
    "agentsvc files search tent --chat $CHAT",
    "agentsvc files get uploads/prices.csv --chat $CHAT --to - | wc -l",
    "agentsvc jobs run create_images @request.json --chat $CHAT --to pictures 2> progress",
    "agentsvc jobs list",
    "agentsvc runs show nope; echo $?",
    "agentsvc ask hello --timeout 0 2>&1 | tail -1; echo ${PIPESTATUS[0]}",
    "agentsvc keys create --name ci --scope runs > key; agentsvc keys list --json | head -6",
)
FILES: Final = {
    "prices.csv": "product,price\nTent,249\nStove,59.90\n",
    "brief.md": "# Autumn\n\nThe audience is hikers who carry their own tent.\n",
    "request.json": '{"request": {"brief": "Headline: Pack light", "outputs": {"mode": "count", "count": 1}}}',
}
ROOT: Final = Path(__file__).parents[1]
PATIENCE_SECONDS: Final = 120
COLUMNS: Final = 110


def play() -> str:
    """The commands with what they show, in order."""
    with tempfile.TemporaryDirectory(prefix="agentsvc-transcripts-") as made:
        folder = Path(made)
        for name, text in FILES.items():
            (folder / name).write_text(text)
        env = _environment(folder)
        try:
            return _neutral("\n\n".join(f"$ {line}\n{_shown(line, folder, env)}" for line in LINES), folder)
        finally:
            _shown("agentsvc stop", folder, env)


def _environment(folder: Path) -> dict[str, str]:
    """Of no one in particular, with an `agentsvc` that is this checkout's."""
    (folder / "bin").mkdir()
    program = folder / "bin" / "agentsvc"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m agentsvc_nb "$@"\n')
    program.chmod(0o755)
    kept = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
    own = {"AGENTSVC_DATA": str(folder / "data"), "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "TZ": "UTC"}
    return {**kept, **own, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}", "TERM": "xterm"}


def _shown(line: str, folder: Path, env: dict[str, str]) -> str:
    """What a terminal shows of a line; later ones have the first chat that is named in `$CHAT`."""
    import pexpect  # here: whoever renders the pages needs none

    size = (50, COLUMNS)
    done: pexpect.spawn[str] = pexpect.spawn(
        "bash", ["-c", line], PATIENCE_SECONDS, cwd=str(folder), env=env, encoding="utf-8", dimensions=size
    )
    done.expect(pexpect.EOF)
    text = str(done.before).replace("\r\n", "\n").rstrip()
    done.close()
    if found := re.search(r"chat_[0-9a-f]{24}", text):
        env.setdefault("CHAT", found[0])
    return text


def _neutral(text: str, folder: Path) -> str:
    """The text with ids of the same length that count from 1, and without times and addresses of here."""
    for pattern, stand_in in (
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "{:08x}-0000-4000-8000-000000000000"),
        (r"\bchat_[0-9a-f]{24}\b", "chat_{:024x}"),
        (r"\bjob_[0-9a-f]{24}\b", "job_{:024x}"),
        (r"\bkey_[0-9a-f]+\b", "key_{:x}"),
        (r"\bsvc_sk_\w+", "svc_sk_{:x}"),
        (r"\breq_[0-9a-f]{24}\b", "req_{:024x}"),
    ):
        text = _numbered(text, pattern, stand_in)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "2026-11-26 10:00", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "2026-11-26T10:00:00.000Z", text)
    return text.replace(str(folder), "/tmp/work") + "\n"


def _numbered(text: str, pattern: str, stand_in: str) -> str:
    found = list(dict.fromkeys(re.findall(pattern, text)))
    return re.sub(pattern, lambda match: stand_in.format(found.index(match[0]) + 1), text)


if __name__ == "__main__":
    KEPT.write_text(play())
