"""Call a tool: parse its input from the cell's body, and show its answer.

Also the way back: an input as the cell that sends it (`key: value` lines if they can express it, else JSON), or as a
call of the client.
"""

from __future__ import annotations

import contextlib
import html
import json
import pprint
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from agentsvc_nb.client.batch_rows import REFERENCE
from agentsvc_nb.client.errors import StefanBrainError, ToolResultError
from agentsvc_nb.notebook import template
from agentsvc_nb.notebook.display import file_table
from agentsvc_nb.notebook.display.markdown import SMALL, WRAPPED, to_html
from agentsvc_nb.notebook.display.render import Bundle, headed, mark
from agentsvc_nb.notebook.display.results import WorkResult
from agentsvc_nb.notebook.display.screens import Bar
from agentsvc_nb.notebook.errors import AskError, RunFailed, to_ask_error
from agentsvc_nb.notebook.files.workspace import fetcher
from agentsvc_nb.notebook.jobs.foreground import JobResult, follow, refusal
from agentsvc_nb.notebook.state.session import Session, remember_job
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.reading import read_json
from agentsvc_nb.wire.text import escape, excerpt, label, plain, worded
from agentsvc_nb.wire.tools import JobAccepted, ToolResult


def read_input(body: str, variables: Mapping[str, Any]) -> dict[str, Any]:
    """Parse a cell's body as a tool's input: a JSON object, or lines of `key: value`.

    In lines, dots nest (`outputs.count: 2`), a value that is JSON is parsed as JSON, and `#` begins a comment. Then
    `{{names}}` are replaced by the values of variables.

    Raises:
        AskError: the body is neither; nothing has been sent.
        template.TemplateError: a name is unknown, or its value cannot be inserted.

    >>> read_input("brief: Autumn sale\\noutputs.count: {{n}}", {"n": 2})
    {'brief': 'Autumn sale', 'outputs': {'count': 2}}
    """
    given = _json(body) if body.lstrip().startswith("{") else _lines(body)
    filled = template.insert(given, variables)
    assert isinstance(filled, dict)
    return filled


_LINES: Final = (
    "Write lines such as `request.brief: Autumn sale`, or a JSON object; `%tools NAME` has a cell to begin from."
)


def _json(body: str) -> Any:
    try:
        return read_json(body)
    except ValueError as error:
        raise AskError(f"The input is not JSON: {error}; nothing was sent.", "Put {{names}} in quotes.") from None


def _lines(body: str) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for line in (line.strip() for line in body.splitlines()):
        if not line or line.startswith("#"):
            continue
        key, colon, value = line.partition(":")
        if not colon or not key.strip():
            raise AskError(f"{line!r} is not `key: value`; nothing was sent.", _LINES)
        _nest(given, key.strip().split("."), _value(value.strip()))
    return given


def _nest(given: dict[str, Any], path: list[str], value: Any) -> None:
    for name in path[:-1]:
        given = given.setdefault(name, {})
        if not isinstance(given, dict):
            raise AskError(f"`{name}` has a value and parts; nothing was sent.", "Give the one or the other.")
    given[path[-1]] = value


def _value(text: str) -> Any:
    try:
        return read_json(text)
    except ValueError:
        return text


DATA_CHARS: Final = 8_000
_PRE: Final = f'<pre style="{WRAPPED}">'


class ToolAnswer(WorkResult):
    """The answer of a tool: `data`, `content` (its content blocks), and `text` (the text of its text blocks)."""

    def __init__(self, result: ToolResult, bundle: Bundle) -> None:
        super().__init__(bundle, (), result.chat or None)
        self.result = result
        self.data = result.data
        self.content = result.content

    @property
    def text(self) -> str:
        return "\n\n".join(str(block.get("text", "")) for block in self.content if block.get("type") == "text")

    def __repr__(self) -> str:
        return f"<ToolAnswer {label(self.result.tool, 60)}, {'failed' if self.result.is_error else 'ok'}>"


def call(
    session: Session,
    tool: str,
    given: Mapping[str, Any],
    bar: Bar,
    *,
    timeout: float | None = None,
    raise_error: bool = True,
    follow: Callable[..., JobResult] = follow,
) -> ToolAnswer | JobResult:
    """Call a tool in this notebook's chat and show its answer. If the service makes a job of it, `follow` follows that.

    Raises:
        AskError: the service refused the call, or could not be reached.
        RunFailed: the tool failed (not with `raise_error=False`).

    A job raises as `foreground.work`.
    """
    client, address = session.client(), session.address()
    try:
        came = client.tools.invoke(
            tool,
            dict(given),
            **session.target(address),
        )
    except ToolResultError as error:
        return _failed(session, tool, error, bar, raise_error)
    except StefanBrainError as error:
        raise refusal(session, error, tool, jobs=False) from None
    session.learn(address, came.chat or None)
    if isinstance(came, JobAccepted):
        remember_job(session, came)
        return follow(session, came, bar, timeout=timeout, raise_error=raise_error)
    return _shown(session, came, bar)


def _failed(session: Session, tool: str, error: ToolResultError, bar: Bar, raise_error: bool) -> ToolAnswer:
    try:
        result = ToolResult.model_validate(error.body)
    except ValueError:
        raise to_ask_error(error, session.base_url) from None
    answer = _shown(session, result, bar, told_below=raise_error)
    if raise_error:
        why = f": {label(result.error.message or result.error.code, 300)}" if result.error else ""
        failure = RunFailed(f"Tool {label(tool, 64)} failed{why}", "`--no-raise-error` keeps the cell going.")
        failure.answer = answer
        raise failure from None
    return answer


def _shown(session: Session, result: ToolResult, bar: Bar, *, told_below: bool = False) -> ToolAnswer:
    """Write a tool's answer; with `told_below` without why it failed, as the exception below the output says that."""
    pictured = {}
    if fetch := fetcher(session.client(), result.chat):
        for block in result.content[: file_table.PER_OUTPUT]:
            if block.get("type") == "image":
                path = str(block.get("path", ""))
                data = fetch(WorkspaceFile(id="", path=path))
                pictured[path] = file_table.thumbnail(data) if data else None
    notes = session.take_notes()
    bar.finish(result_bundle(result, notes, pictured, why=not told_below))
    return ToolAnswer(result, result_bundle(result, notes, pictured))


def result_bundle(
    result: ToolResult,
    notes: tuple[str, ...] = (),
    pictured: Mapping[str, str | None] = {},
    *,
    why: bool = True,
) -> Bundle:
    """A tool's answer as an output: its content blocks, or else its data; of one that failed the status says `why`.

    `pictured` has data URIs by path.
    """
    told = result.error.message if result.error else ""
    parts = [_block(block, pictured) for block in result.content if not told or block.get("text") != told]
    if not parts and result.data is not None:
        parts = [_json_bundle(result.data)]
    head = [mark("failed" if result.is_error else "completed"), label(result.tool, 60)]
    if result.error is not None and why:
        head.append(f"{label(result.error.code, 80)}: {label(result.error.message, 300)}")
    lines = [" · ".join(head), *(label(note, 400) for note in notes)]
    return {
        "text/plain": "\n\n".join([*(part["text/plain"] for part in parts), *lines]),
        "text/html": headed(f'<div style="{SMALL}">{worded(line, 600)}</div>' for line in lines)
        + "".join(part["text/html"] for part in parts),
    }


def _block(block: Mapping[str, Any], pictured: Mapping[str, str | None]) -> Bundle:
    match block.get("type"):
        case "text":
            text = str(block.get("text", ""))
            return {"text/plain": plain(text), "text/html": to_html(text)}
        case "image":
            path, uri = str(block.get("path", "")), pictured.get(str(block.get("path", "")))
            image = f'<img src="{uri}" alt="{escape(path)}">' if uri else f"<code>{escape(path)}</code>"
            return {"text/plain": f"[image: {label(path)}]", "text/html": f"<p>{image}</p>"}
    return _json_bundle(block.get("json", block))


def _json_bundle(value: Any) -> Bundle:
    text = str(value)
    with contextlib.suppress(ValueError, TypeError, RecursionError):
        text = json.dumps(value, indent=2, ensure_ascii=False)
    shown = excerpt(text, DATA_CHARS)
    return {"text/plain": shown, "text/html": f"{_PRE}{html.escape(shown)}</pre>"}


_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def as_cell(tool: str, asynchronous: bool, given: Mapping[str, Any]) -> str:
    r"""Return the `%%tool` (or `%%job`) cell that sends this input.

    >>> print(as_cell("web_search", False, {"query": "tents", "count": 8}))
    %%tool web_search
    query: tents
    count: 8
    """
    return f"{'%%job' if asynchronous else '%%tool'} {label(tool, 64)}\n{_written_body(_escaped(given))}"


def as_client_call(tool: str, asynchronous: bool, given: Mapping[str, Any]) -> str:
    """Return the call of the client that sends this input, for hosts without magics.

    >>> print(as_client_call("web_search", False, {"query": "tents", "count": 8}))
    client.tools.invoke('web_search', {'query': 'tents', 'count': 8})
    """
    name = "client.jobs.submit" if asynchronous else "client.tools.invoke"
    return plain(f"{name}({label(tool, 64)!r}, {pprint.pformat(dict(given), width=100, sort_dicts=False)})")


def _written_body(given: Any) -> str:
    try:
        lines = "\n".join(_written_lines(given, ""))
        if plain(lines) == lines and read_input(lines, {}) == read_input(json.dumps(given), {}):
            return lines
    except AskError:
        pass  # for example a key that can't stand in a line
    text = json.dumps(given, indent=2, ensure_ascii=False)
    return text if plain(text) == text else json.dumps(given, indent=2)


def _written_lines(given: Mapping[str, Any], before: str) -> Iterator[str]:
    for key, value in given.items():
        if not _KEY.fullmatch(key):
            raise AskError(f"{key!r} can't stand in a line.")
        if isinstance(value, dict) and value:
            yield from _written_lines(value, f"{before}{key}.")
        else:
            yield f"{before}{key}: {_written_value(value)}"


def _written_value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, str) or value != value.strip() or not value or "\n" in value:
        return text
    try:
        read_json(value)
    except ValueError:
        return value
    return text  # unquoted, it would be read as another JSON value, such as a number


def _escaped(value: Any) -> Any:
    """Escape `{{name}}` in all texts, so that it is sent as it stands."""
    if isinstance(value, dict):
        return {key: _escaped(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_escaped(part) for part in value]
    return REFERENCE.sub(lambda match: "\\" + match[0], value) if isinstance(value, str) else value
