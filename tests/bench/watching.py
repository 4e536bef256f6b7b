"""What it costs a kernel to show an answer that is being written: processor at 200 tokens a second, and bytes.

The bytes are those of all messages on the kernel's output channel, headers included, by the length of the answer; for
long answers the clock is made to pass, at 200 tokens a second too.

python -m tests.bench.watching [--quick]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from agentsvc_nb.notebook.display.render import answer_bundle
from agentsvc_nb.notebook.display.screens import LiveScreen
from agentsvc_nb.testing import running_service
from tests.bench.process import cpu_seconds
from tests.notebook.jupyter import Jupyter, jupyter
from tests.notebook.screens import Cell, Clock, Script

TOKENS_A_SECOND: Final = 200
CHARS_A_TOKEN: Final = 4
BYTES_MOST: Final = 70
WORDS: Final = "Some more words of the *answer*, and a bit of `code` here. "
TEXTS: Final = {
    "paragraphs": "## A part\n\n" + WORDS * 6 + "\n\n",
    "one paragraph": WORDS,
    "one table": "| an item | 12.50 | a few words |\n",
}


def main(quick: bool) -> None:
    seconds = 10 if quick else 60
    with running_service() as service, tempfile.TemporaryDirectory() as folder:
        named = {"SERVICE_API_KEY": service.api_key, "AGENTSVC_BASE_URL": service.base_url}
        with jupyter(Path(folder), **named) as kernel:
            _stream(kernel, 2)
            share, bytes_a_char = _stream(kernel, seconds)
    print(
        f"kernel at {TOKENS_A_SECOND} tokens a second for {seconds} s: {share:.1%} of a core, {bytes_a_char:.0f} B/char"
    )
    print(f"{'bytes a character, at':28}" + "".join(f"{length:>10,}" for length in LENGTHS))
    for name, piece in TEXTS.items():
        found = [_bytes(piece, length) for length in LENGTHS]
        print(f"{name:28}" + "".join(f"{bytes_:10.1f}" for bytes_ in found))
        assert max(found[1:]) < BYTES_MOST, f"{name}: {max(found[1:]):.0f} bytes a character"


LENGTHS: Final = (1_000, 5_000, 20_000, 50_000, 200_000)


def _stream(kernel: Jupyter, seconds: int) -> tuple[float, float]:
    """The kernel's share of a core while it shows such an answer, and the bytes that it sent for a character."""
    tenth = (WORDS * 3)[: TOKENS_A_SECOND * CHARS_A_TOKEN // 10]
    script = "\n".join(f"say {tenth}\nwait 0.1\n{'say' if number % 5 == 0 else ''}" for number in range(10 * seconds))
    pid: Any = kernel.manager.provisioner.pid
    began, used = time.perf_counter(), cpu_seconds(pid)
    run = kernel.run(f"%%ask\n{script}", cell_id="c1")
    share = (cpu_seconds(pid) - used) / (time.perf_counter() - began)
    assert run.error is None, run.error
    length = int(kernel.run("print(len(_.text))").printed)
    assert length >= seconds * TOKENS_A_SECOND * CHARS_A_TOKEN * 0.9
    return share, run.bytes / length


def _bytes(piece: str, length: int) -> float:
    """Bytes a character of an answer of this length, at the same speed on a clock of our own."""
    text = (piece * (length // len(piece) + 1))[:length]
    cell, clock, script = Cell(), Clock(), Script()
    screen = LiveScreen(cell, clock)
    began, step = clock.now, TOKENS_A_SECOND * CHARS_A_TOKEN // 10
    for start in range(0, length, step):
        script.say(text[start : start + step])
        clock.now += 0.1
        script.view.elapsed = clock.now - began
        screen.draw(script.view)
    script.end()
    screen.finish(answer_bundle(script.view), {"agentsvc_nb": {}})
    assert script.view.text == text
    return cell.bytes / length


if __name__ == "__main__":
    main("--quick" in sys.argv)
