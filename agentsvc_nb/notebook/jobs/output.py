"""Render jobs and the answers of tools as static outputs: progress bars, results and content blocks."""

from __future__ import annotations

import contextlib
import html
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentsvc_nb import clock
from agentsvc_nb.notebook.display.markdown import LINE_CHARS, SMALL, WRAPPED, line_html, to_html
from agentsvc_nb.notebook.display.progress import progress_html
from agentsvc_nb.notebook.display.render import (
    Bundle,
    percent,
    seconds_of,
    stack,
    status_html,
    status_label,
    with_space_below,
)
from agentsvc_nb.notebook.display.timeline import seconds_between
from agentsvc_nb.wire.text import escape, excerpt, label, plain, worded
from agentsvc_nb.wire.tools import Job, ToolResult

BARS: Final = 20
"""The maximum number of jobs shown in one output. Further jobs are also followed, but the output shows only their
number.
"""
DATA_CHARS: Final = 8_000


def job_state(job: Job) -> str:
    """Return the current activity that a running job reports, or otherwise the job's status."""
    said = job.progress.message if job.progress is not None and job.status == "running" else ""
    return label(said, 80) if said else status_label(str(job.status))


def job_amounts(job: Job, elapsed: float) -> list[str]:
    """Return a job's progress in percent and the time left, or if unknown, how long the job has taken."""
    seconds = seconds_of(job)
    if job.ended or job.progress is None:
        return [f"{elapsed if seconds is None else seconds:.1f} s"]
    done, total = job.progress.done, job.progress.total
    running = seconds_between(job.started_at, clock.now().isoformat())
    if not total or done <= 0 or running is None or running < 1:
        left = f"{elapsed:.1f} s"
    else:
        seconds_left = running * max(0.0, total - done) / done
        left = f"{seconds_left:.0f} s left" if seconds_left < 90 else f"{seconds_left / 60:.0f} min left"
    return [piece for piece in (percent(done, total), left) if piece]


def job_bundle(
    job: Job, elapsed: float, notes: Sequence[str] = (), files: Bundle | None = None, *, why: bool = True
) -> Bundle:
    """Return an output with a job's progress bar, or the result of an ended job. With `why`, say why the job failed.

    The HTML shows the job's id after a click on the status line. The plain text shows the id unless the job succeeded.
    """
    pieces = [status_label(str(job.status)), label(job.tool, 60)]
    if job.progress is not None and job.progress.message and not job.ended:
        pieces.append(label(job.progress.message, 80))
    pieces += job_amounts(job, elapsed)
    said = [plain(str(block.get("text", ""))) for block in job.content if block.get("type") == "text"]
    if job.error is not None:
        said = [text for text in said if text != plain(job.error.message)]
        said[:0] = [f"{label(job.error.code, 80)}: {plain(job.error.message)}"] * why
    tables, lines = [files] if files else [], [label(note, LINE_CHARS) for note in notes]
    html_parts = [
        status_html(str(job.status), pieces[1:], f"<div>job <code>{escape(job.job_id)}</code></div>")
        if job.ended
        else _bar_html(job, elapsed),
        *map(line_html, lines),
        *(to_html(text) for text in said),
        *(table["text/html"] for table in tables),
    ]
    if job.status != "succeeded":
        pieces.append(label(job.job_id, 64))
    text = [*said, *(table["text/plain"] for table in tables), *lines, " · ".join(pieces)]
    return {"text/plain": "\n\n".join(text), "text/html": "".join(html_parts)}


def _bar_html(job: Job, elapsed: float) -> str:
    amount = percent(job.progress.done, job.progress.total) if job.progress else ""
    return progress_html(label(job.tool, 60), job_state(job), " · ".join(job_amounts(job, elapsed)), amount)


def submitted_bundle(job: Job) -> Bundle:
    """Return a line, without a progress bar, for a job that its cell does not follow: the bar would never move."""
    pieces = [label(job.tool, 60), label(job.job_id, 64)]
    line = " · ".join([status_label(str(job.status)), *pieces])
    hint = "Follow it with `%jobs watch`, or stop it with `%jobs cancel`."
    return {"text/plain": f"{hint}\n\n{line}", "text/html": status_html(str(job.status), pieces) + line_html(hint)}


def jobs_bundle(bundles: Sequence[Bundle]) -> Bundle:
    """Combine the outputs of the first 20 jobs. If there are more jobs, a line below says how many."""
    more = f"… {len(bundles) - BARS} more: `%jobs`"
    counted = [{"text/plain": more, "text/html": line_html(more)}] if len(bundles) > BARS else []
    return stack([*bundles[:BARS], *counted])


def result_bundle(
    result: ToolResult,
    notes: tuple[str, ...] = (),
    pictured: Mapping[str, str | None] = {},
    *,
    why: bool = True,
) -> Bundle:
    """Return a tool's answer as an output: its content blocks, or if there are none, its data.

    Args:
        pictured: the data URIs of pictures, by their path; None for a picture that can't be shown.
        why: whether to say why the tool failed.
    """
    told = result.error.message if result.error else ""
    parts = [_block(block, pictured) for block in result.content if not told or block.get("text") != told]
    if not parts and result.data is not None:
        parts = [_json_bundle(result.data)]
    head = [status_label("failed" if result.is_error else "completed"), label(result.tool, 60)]
    if result.error is not None and why:
        head.append(f"{label(result.error.code, 80)}: {label(result.error.message, 300)}")
    lines = [" · ".join(head), *(label(note, 400) for note in notes)]
    return {
        "text/plain": "\n\n".join([*(part["text/plain"] for part in parts), *lines]),
        "text/html": with_space_below(f'<div style="{SMALL}">{worded(line, 600)}</div>' for line in lines)
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
    return {"text/plain": shown, "text/html": f'<pre style="{WRAPPED}">{html.escape(shown)}</pre>'}
