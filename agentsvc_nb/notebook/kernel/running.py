"""Run the agent's code on the main thread as if it were a cell, and record its outcome.

The code is not added to IPython's history, and its value is not added to `Out`. Its output is recorded, but not sent to
the front end. In the code, `input` and `exit` raise an error.
"""

from __future__ import annotations

import _thread
import base64
import builtins
import io
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from IPython.core.displaypub import DisplayPublisher
from IPython.core.error import UsageError
from traitlets import HasTraits

from agentsvc_nb import clock
from agentsvc_nb.notebook.kernel.variables import is_frame

KEPT_CHARS: Final = 10_000
"""How many characters of the printed text are kept from its beginning, and also from its end."""
PICTURES: Final = 8
PICTURE_BYTES: Final = 3_000_000
_SHOWN: Final = {"max_rows": 20, "max_cols": 20}
_TICK_SECONDS: Final = 0.5


@dataclass
class CodeOutcome:
    """The output and the value of the code so far.

    Attributes:
        text: the printed text, followed by the value of the last line.
        table: if the value of the last line is a DataFrame, its HTML, in which pandas has escaped all texts.
        table_text: the same table as plain text, which is also part of `text`.
    """

    pictures: list[bytes] = field(default_factory=list)
    table: str = ""
    table_text: str = ""
    error: str = ""
    _head: str = ""
    _tail: str = ""
    _chars: int = 0

    def write(self, text: str) -> None:
        self._chars += len(text)
        room = max(0, KEPT_CHARS - len(self._head))
        self._head += text[:room]
        self._tail = (self._tail + text[room:][-KEPT_CHARS:])[-KEPT_CHARS:]

    @property
    def text(self) -> str:
        left_out = self._chars - len(self._head) - len(self._tail)
        gap = f"\n… {left_out:,} characters left out …\n" if left_out else ""
        return self._head + gap + self._tail


def run(shell: Any, code: str, outcome: CodeOutcome, tick: Callable[[], object] = lambda: None) -> None:
    """Run the code on the main thread until it ends or is interrupted.

    `tick` is called once before the code runs, and repeatedly while the code prints. An exception in the code is
    recorded in `outcome`, not raised.
    """
    try:
        tick()  # within the `try`, because the user can interrupt from here on
        with _capture_output(shell, _Recorder(shell, outcome, tick)):
            result = shell.run_cell(code, store_history=False)
        failed = result.error_before_exec or result.error_in_exec
    except KeyboardInterrupt as error:  # the interrupt came outside of the code that IPython runs
        failed = error
    if isinstance(failed, KeyboardInterrupt):
        outcome.error = "KeyboardInterrupt: the user stopped the code."
    elif failed is not None and not outcome.error:
        outcome.error = f"{type(failed).__name__}: {failed}"


def uses_top_level_await(shell: Any, code: str) -> bool:
    """Return True if the code uses `await` outside of functions. It would then need the kernel's event loop."""
    try:
        return bool(shell.should_run_async(code, transformed_cell=shell.transform_cell(code)))
    except SyntaxError:  # the error is reported when the code is run
        return False


class _Recorder:
    """Records all output of the agent's code."""

    def __init__(self, shell: Any, outcome: CodeOutcome, tick: Callable[[], object]) -> None:
        self._shell = shell
        self.outcome = outcome
        self._tick = tick
        self._ticked = clock.monotonic()

    def write(self, text: str) -> None:
        self.outcome.write(text)
        if clock.monotonic() - self._ticked > _TICK_SECONDS:
            self._ticked = clock.monotonic()
            self._tick()

    def show(self, data: dict[str, Any]) -> None:
        """Record displayed data: the picture if there is one, otherwise the text."""
        picture = data.get("image/png") or data.get("image/jpeg")
        if picture is not None:
            raw = base64.b64decode(picture) if isinstance(picture, str) else bytes(picture)
            if len(self.outcome.pictures) < PICTURES and len(raw) <= PICTURE_BYTES:
                self.outcome.pictures.append(raw)
            else:
                self.write(f"[a picture of {len(raw):,} bytes was omitted]\n")
        elif text := data.get("text/plain"):
            self.write(f"{text}\n")

    def result(self, value: Any) -> None:
        """Record the value of the last expression. This replaces `sys.displayhook`."""
        if value is None:
            return
        data, _ = self._shell.display_formatter.format(value)
        if is_frame(value) and hasattr(value, "to_html"):
            self.outcome.table, self.outcome.table_text = value.to_html(**_SHOWN), str(data.get("text/plain", ""))
        self.show(data)

    def traceback(self, *_: Any, **__: Any) -> None:
        """Record the traceback of an exception in IPython's format."""
        kind, error, trace = sys.exc_info()
        if isinstance(error, SyntaxError):
            lines = self._shell.SyntaxTB.structured_traceback(kind, error, [])
        elif isinstance(error, (UsageError, SystemExit)):
            return  # the message of these exceptions is enough
        else:
            lines = self._shell.InteractiveTB.structured_traceback(kind, error, trace, tb_offset=1)
        self.outcome.error = "\n".join(lines)

    def refuse_input(self, *_: Any, **__: Any) -> str:
        raise RuntimeError("The agent's code can't use input(). Write the value into the code.")

    def refuse_exit(self, *_: Any, **__: Any) -> None:
        raise RuntimeError("The agent's code can't stop the kernel.")


class _RecordedStream(io.TextIOBase):
    """Replaces `sys.stdout` and `sys.stderr` while the code runs.

    Threads that the code has started may still write to it after the code has ended.
    """

    def __init__(self, recorder: _Recorder) -> None:
        self._recorder = recorder

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._recorder.write(str(text))
        return len(text)


class _Publisher(DisplayPublisher):
    """Receives what the code displays with `display`."""

    def __init__(self, recorder: _Recorder) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._recorder = recorder

    def publish(self, data: dict[str, Any], *_: Any, **__: Any) -> None:
        self._recorder.show(data)

    def clear_output(self, wait: bool = False) -> None:
        pass


@contextmanager
def _capture_output(shell: Any, recorder: _Recorder) -> Iterator[None]:
    """Redirect all output in the `with` block to the recorder, and call none of IPython's cell callbacks."""
    writer = _RecordedStream(recorder)
    with ExitStack() as stack:
        for place, name, stands_in in (
            (sys, "stdout", writer),
            (sys, "stderr", writer),
            (sys, "stdin", io.StringIO()),
            (sys, "unraisablehook", _interrupt_again),
            (sys, "displayhook", recorder.result),
            (builtins, "input", recorder.refuse_input),
            (shell, "display_pub", _Publisher(recorder)),
            (shell, "showtraceback", recorder.traceback),
            (shell, "showsyntaxerror", recorder.traceback),
            (shell, "ask_exit", recorder.refuse_exit),
            (shell, "system", shell.system_piped),
            (shell.displayhook, "exec_result", None),  # the value of the cell that is running is stored here
        ):
            stack.enter_context(_replace_attribute(place, name, stands_in))
        # While a cell runs, `sys.displayhook` is already replaced. Between cells, IPython replaces it with this hook.
        stack.enter_context(_replace_attribute(shell.display_trap, "hook", recorder.result))
        for event in ("pre_run_cell", "post_run_cell"):
            callbacks = shell.events.callbacks
            stack.callback(callbacks.__setitem__, event, callbacks[event])
            callbacks[event] = []
        yield


def _interrupt_again(ignored: Any) -> None:
    """Interrupt the main thread again after a finalizer has swallowed a KeyboardInterrupt.

    The widgets of the approval cards are garbage-collected while the code runs, and in ipywidgets 8.1 each widget has a
    finalizer. In tests, the finalizers swallowed one interrupt in three.
    """
    if isinstance(ignored.exc_value, KeyboardInterrupt):
        threading.Timer(0.01, _thread.interrupt_main).start()  # raising here would be swallowed, too
    else:
        sys.__unraisablehook__(ignored)


@contextmanager
def _replace_attribute(place: Any, name: str, stands_in: Any) -> Iterator[None]:
    is_own = name in vars(place) or (isinstance(place, HasTraits) and place.has_trait(name))
    before = getattr(place, name, None)
    setattr(place, name, stands_in)
    try:
        yield
    finally:
        if is_own:
            setattr(place, name, before)
        else:
            delattr(place, name)  # the attribute of the class becomes visible again
