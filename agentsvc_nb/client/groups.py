"""The operations by resource, in the client's two faces: one line per operation and face.

Every operation is written once, in the module of its resource.
"""

from __future__ import annotations

from agentsvc_nb.client.downloads import fetching
from agentsvc_nb.client.methods import aio, aio_pages, aio_stream, sync, sync_pages, sync_stream
from agentsvc_nb.client.operations import artifacts, chats, feedback, files, jobs, labels, media, runs, tools
from agentsvc_nb.client.request.core import Core


class Group:
    def __init__(self, core: Core) -> None:
        self._core = core


class Runs(Group):
    """Agent Runs: one agent turn inside a chat."""

    start = sync(runs.start)
    get = sync(runs.get)
    wait = sync(runs.wait)
    cancel = sync(runs.cancel)
    approve = sync(runs.approve)
    refuse = sync(runs.refuse)
    events = sync(runs.events)
    iterate_events = sync_pages(runs.iterate_events)
    attach = sync_stream(runs.attach)
    start_and_stream = sync_stream(runs.start_and_stream)


class Files(Group):
    """Uploads and the files of a chat."""

    upload = sync(files.upload)
    list = sync_pages(files.list_)
    search = sync(files.search)
    download = sync(fetching.download)
    head = sync(fetching.head)
    rename = sync(files.rename)


class Jobs(Group):
    """Long-running tool jobs."""

    submit = sync(jobs.submit)
    status = sync(jobs.status)
    wait = sync(jobs.wait)
    result = sync(jobs.result)
    cancel = sync(jobs.cancel)
    submit_and_wait = sync(jobs.submit_and_wait)
    download_artifacts = sync(artifacts.download_artifacts)


class Tools(Group):
    """The tool catalog."""

    list = sync(tools.list_)
    describe = sync(tools.describe)
    invoke = sync(tools.invoke)


class Feedback(Group):
    """Reports to the team that runs the service, and its replies."""

    send = sync(feedback.send)
    from_last_error = sync(feedback.from_last_error)
    list = sync(feedback.list_)
    get = sync(feedback.get)


class Media(Group):
    """Stored ad media and their transcripts."""

    get = sync(media.get)
    transcribe = sync(media.transcribe)


class Labels(Group):
    """Landing pages and their labels."""

    list = sync(labels.list_)
    get = sync(labels.get)
    write = sync(labels.write)


class Projects(Group):
    """Projects: chats that belong together."""

    create = sync(chats.create_project)
    list = sync(chats.list_projects)


class Chats(Group):
    """Chats, which runs and tools make as they need them."""

    retire = sync(chats.retire)


class AsyncRuns(Group):
    """Agent Runs: one agent turn inside a chat."""

    start = aio(runs.start)
    get = aio(runs.get)
    wait = aio(runs.wait)
    cancel = aio(runs.cancel)
    approve = aio(runs.approve)
    refuse = aio(runs.refuse)
    events = aio(runs.events)
    iterate_events = aio_pages(runs.iterate_events)
    attach = aio_stream(runs.attach)
    start_and_stream = aio_stream(runs.start_and_stream)


class AsyncFiles(Group):
    """Uploads and the files of a chat."""

    upload = aio(files.upload)
    list = aio_pages(files.list_)
    search = aio(files.search)
    download = aio(fetching.download)
    head = aio(fetching.head)
    rename = aio(files.rename)


class AsyncJobs(Group):
    """Long-running tool jobs."""

    submit = aio(jobs.submit)
    status = aio(jobs.status)
    wait = aio(jobs.wait)
    result = aio(jobs.result)
    cancel = aio(jobs.cancel)
    submit_and_wait = aio(jobs.submit_and_wait)
    download_artifacts = aio(artifacts.download_artifacts)


class AsyncTools(Group):
    """The tool catalog."""

    list = aio(tools.list_)
    describe = aio(tools.describe)
    invoke = aio(tools.invoke)


class AsyncFeedback(Group):
    """Reports to the team that runs the service, and its replies."""

    send = aio(feedback.send)
    from_last_error = aio(feedback.from_last_error)
    list = aio(feedback.list_)
    get = aio(feedback.get)


class AsyncMedia(Group):
    """Stored ad media and their transcripts."""

    get = aio(media.get)
    transcribe = aio(media.transcribe)


class AsyncLabels(Group):
    """Landing pages and their labels."""

    list = aio(labels.list_)
    get = aio(labels.get)
    write = aio(labels.write)


class AsyncProjects(Group):
    """Projects: chats that belong together."""

    create = aio(chats.create_project)
    list = aio(chats.list_projects)


class AsyncChats(Group):
    """Chats, which runs and tools make as they need them."""

    retire = aio(chats.retire)
