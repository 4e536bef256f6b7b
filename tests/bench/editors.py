"""What an editor shows of ten calls, and of the nearest of openai's: the table of docs/programs.md.

python -m tests.bench.editors
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from tests.bench import peers
from tests.unit.client.editor import Editor

CALLS: Final = {
    "ask": "responses.create",
    "runs.start": "responses.parse",
    "runs.start_and_stream": "responses.stream",
    "runs.get": "responses.retrieve",
    "runs.cancel": "responses.cancel",
    "files.upload": "files.create",
    "files.list": "files.list",
    "files.download": "files.content",
    "jobs.submit_and_wait": "vector_stores.files.upload_and_poll",
    "models.list": "models.list",
}
HEAD: Final = [
    "from agentsvc_nb import AgentService",
    "from openai import OpenAI",
    "ours = AgentService()",
    "theirs = OpenAI()",
]
EXPLAINED: Final = r"`{0}`|^ *(?:\w+, )*{0}(?:, \w+)*:"
ARGUMENT: Final = re.compile(r"\b(\w+): ")


class Shown(NamedTuple):
    """Arguments that signature help lists and that the text explains, and whether that says more."""

    listed: int
    explained: int
    raises: bool
    example: bool

    def __str__(self) -> str:
        words = ["yes" if one else "no" for one in (self.raises, self.example)]
        return f"{self.listed}, {self.explained} | {', '.join(words)}"


def shown(editor: Editor, line: int, code: str) -> Shown:
    signature = max(editor.signatures(line, len(code)), key=len)
    text = editor.hover(line, len(code) - 2).partition("\n---\n")[2].replace("&nbsp;", " ").replace("\\_", "_")
    inside = signature[signature.index("(") + 1 : signature.rindex(")")]
    arguments = {name for name in ARGUMENT.findall(_flat(inside)) if name != "self"}
    explained = sum(bool(re.search(EXPLAINED.format(name), text, re.MULTILINE)) for name in arguments)
    return Shown(len(arguments), explained, bool(re.search(r"\bRaises\b", text)), ">>>" in text)


def _flat(text: str) -> str:
    """Without what stands in brackets."""
    while (less := re.sub(r"\[[^\[\]]*\]|\([^()]*\)", "", text)) != text:
        text = less
    return text


def main() -> None:
    if not peers.OPENAI:
        print("openai is not installed: pip install -e '.[test]'")
        return
    lines = [f"{name}.{call}(" for pair in CALLS.items() for name, call in zip(("ours", "theirs"), pair, strict=True)]
    print("| agentsvc_nb | Listed, explained | Raises, example | openai | Listed, explained | Raises, example |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, Editor(Path(folder), "\n".join([*HEAD, *lines])) as editor:
        found = [shown(editor, len(HEAD) + number, code) for number, code in enumerate(lines)]
    for (mine, other), ours, theirs in zip(CALLS.items(), found[::2], found[1::2], strict=True):
        print(f"| `{mine}` | {ours} | `{other}` | {theirs} |")


if __name__ == "__main__":
    main()
