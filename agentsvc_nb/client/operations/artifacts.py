"""The files that a job made, on disk."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Unpack, cast

from agentsvc_nb.client import places
from agentsvc_nb.client.downloads.fetching import download
from agentsvc_nb.client.hooks import OnProgress, tell
from agentsvc_nb.client.operations.jobs import result
from agentsvc_nb.client.request.core import Core
from agentsvc_nb.client.request.options import Options
from agentsvc_nb.wire.tools import Job


async def download_artifacts(
    core: Core,
    job: str | Job,
    *,
    to: str | os.PathLike[str],
    chat: str | None = None,
    project: str | None = None,
    session: str | None = None,
    on_progress: OnProgress | None = None,
    **options: Unpack[Options],
) -> list[Path]:
    """Put all files of a job's result into the folder `to`, which is made, and give their places; see `files.download`.

    Args:
        job: its id, with its `chat` or `project` and `session`; or its result.
        to: the folder. Files of one name get `-2`, `-3`, ... before their suffix; what is there already stays.
        on_progress: called with the bytes so far and the bytes in all.

    Raises `StefanBrainError` (`job_not_finished`; as `files.download`), `OSError`.

    >>> client.jobs.download_artifacts(job, to="pictures")  # doctest: +SKIP
    [PosixPath('pictures/variant-1.png'), PosixPath('pictures/variant-2.png')]
    """
    core = core.scoped(options)
    if isinstance(job, str):
        job = await result(core, job, chat=chat, project=project, session=session)
    elif job.files is None and job.kind is None:
        job = await result(core, job.job_id, chat=job.chat)
    folder = await core.io.call(lambda: places.folder(to))
    return await _files(core, job, folder, on_progress)


async def _files(core: Core, job: Job, folder: Path, on_progress: OnProgress | None) -> list[Path]:
    files, put = job.files or [], []
    total, before = sum(file.size_bytes for file in files), 0
    for file, name in zip(files, places.distinct(file.path for file in files), strict=True):
        told = functools.partial(_told, on_progress, before, total)
        place = await download(core, file, chat=job.chat, to=folder / name, on_progress=told)
        put.append(cast(Path, place))
        before += file.size_bytes
    return put


async def _told(hook: OnProgress | None, before: int, total: int, done: int, _: int | None) -> None:
    await tell(hook, before + done, total)
