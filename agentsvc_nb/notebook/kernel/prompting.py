"""Asking for code in the user's kernel, or a change of a cell, where no button is heard: with `input`."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.notebook.kernel.calls import KernelCall
from agentsvc_nb.wire.limits import REASON_CHARS
from agentsvc_nb.wire.text import label

_EDIT: Final = "The code to run instead; end it with a line that is just a dot:"


def decide_by_prompt(call: KernelCall) -> None:
    """Ask until there is an answer; an empty one asks again. Without more input it is refused.

    Raises `KeyboardInterrupt`: then nothing is decided.
    """
    try:
        while call.state == "asked":
            said, _, why = input(call.question).strip().partition(" ")
            said = said.casefold().rstrip(",:")
            if said in ("y", "yes"):
                call.decide(True)
            elif said in ("n", "no"):
                # In the same line: what is typed before JupyterLab shows the next one are its commands, such as cut.
                call.decide(False, reason=label(why.strip(), REASON_CHARS))
            elif said in ("e", "edit") and call.on_main_thread:
                print(_EDIT)
                call.decide(True, "\n".join(iter(input, ".")))
    except EOFError:
        call.decide(False)
