"""Let the user at the terminal decide tool calls that wait for approval."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.cli.colours import RED, YELLOW
from agentsvc_nb.cli.connection import UnusableInput, print_note, read_object

if TYPE_CHECKING:
    from agentsvc_nb.client.api import AgentService

_QUESTION: Final = "[y]es, [e]dit, [n]o REASON{all}, or Enter to decide elsewhere: "
_ALL: Final = ", [a]ll calls of this tool in this run"


def decide_here(client: AgentService, run_id: str, call_id: str) -> None:
    """Ask the user to approve or refuse a tool call, and send the decision. Do nothing if it is already decided."""
    from agentsvc_nb.client.approvals import waiting_calls
    from agentsvc_nb.client.errors import StefanBrainError

    call = waiting_calls(client, run_id).get(call_id)
    while call is not None:
        print_note(_QUESTION.format(all=_ALL if "run" in call.standing else ""), YELLOW)
        try:
            answer, _, reason = input().strip().partition(" ")
        except EOFError:
            return
        try:
            match answer.lower():
                case "":
                    return
                case "y" | "yes":
                    client.runs.approve(run_id, call_id)
                    return
                case "e" | "edit":
                    client.runs.approve(run_id, call_id, input=edit_arguments(call.input))
                    return
                case "a" | "all":
                    client.runs.approve(run_id, call_id, lasts="run")
                    return
                case "n" | "no":
                    client.runs.refuse(run_id, call_id, reason=reason.strip())
                    return
        except UnusableInput as error:
            print_note(str(error), RED)
        except StefanBrainError as error:
            print_note(error.message, RED)
            if error.code != "invalid_approval":
                return


def edit_arguments(given: Any) -> dict[str, Any]:
    """Let the user edit a call's arguments in $VISUAL or $EDITOR. If neither is set, let the user type new arguments.

    Raises `UnusableInput`.
    """
    import shlex
    import subprocess
    import tempfile

    from agentsvc_nb.wire.text import editable

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        print_note("Enter the new arguments as JSON in one line (set EDITOR to use an editor):")
        return read_object(input(), "The new input")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "arguments.json")
        file.write_text(f"{editable(given)}\n", encoding="utf-8")
        try:
            subprocess.run([*shlex.split(editor), str(file)], check=True)
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            raise UnusableInput(f"The editor failed ({error}). Nothing was sent.") from None
        return read_object(f"@{file}", "The new input")
