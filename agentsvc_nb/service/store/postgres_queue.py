"""Dispatch the runs and jobs in a PostgreSQL database to processes, with the library procrastinate (docs/decisions/14).

For each run or job, the SQL function `queued` adds a queue job in the same transaction. A worker of procrastinate takes
the queue job, and executes the run or job in this process.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import procrastinate
import psycopg
from procrastinate import exceptions, job_context, jobs

log = logging.getLogger(__name__)

HEARTBEAT_SECONDS: Final = 3.0
LOOK_SECONDS: Final = 2.0
"""How often a worker polls the database for queue jobs. Usually, LISTEN wakes the worker earlier."""
POOLED_LOOK_SECONDS: Final = 0.5
"""How often a worker polls behind a connection pooler, where LISTEN does not work."""
AGAIN_SECONDS: Final = 0.5
CONNECT_SECONDS: Final = 5.0
AT_ONCE: Final = 1_000_000
"""The maximum number of runs and jobs in a process. It is never reached, because runs mostly wait."""
DAY_SECONDS: Final = 86_400
HOUR_SECONDS: Final = 3_600
_QUEUE_CHARS: Final = 128
_EVERYBODY: Final = "all"

Execute = Callable[[str, int, int], Awaitable[None]]


class PostgresQueue:
    """Implements `ports.Queue` with procrastinate."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._given = given
        # procrastinate logs long messages when the database is unavailable. They are not needed, because the runs
        # continue and this module logs what matters.
        for name in ("procrastinate", "psycopg.pool"):
            logging.getLogger(name).setLevel(logging.CRITICAL)

    async def work(self, models: Sequence[str], execute: Execute) -> None:
        """Take queue jobs and execute them until cancelled. Then wait until all of them have ended.

        When procrastinate's worker loses the database, it cancels its queue jobs and ends. Nevertheless the runs and
        jobs continue: a new worker takes new queue jobs, and the old worker ends after the last of its own.
        """
        queues = [f"model:{model}"[:_QUEUE_CHARS] for model in models] + [_EVERYBODY]
        workers: set[asyncio.Task[None]] = set()
        try:
            while True:
                lost = asyncio.Event()
                worker = asyncio.create_task(self._take(queues, execute, lost), name="queue worker")
                workers.add(worker)
                worker.add_done_callback(workers.discard)
                losing = asyncio.create_task(lost.wait(), name="loss of the queue worker")
                try:
                    await asyncio.wait([worker, losing], return_when=asyncio.FIRST_COMPLETED)
                finally:
                    losing.cancel()
                log.warning("the queue lost its connection to the database and connects again")
                await asyncio.sleep(AGAIN_SECONDS)
        finally:
            for worker in workers:
                worker.cancel()
            if workers:
                await asyncio.wait(workers)

    async def _take(self, queues: Sequence[str], execute: Execute, lost: asyncio.Event) -> None:
        app = self._app(execute, lost)
        try:
            async with app.open_async():
                assert isinstance(app.connector, procrastinate.PsycopgConnector)
                async with app.connector.pool.connection() as connection:
                    direct = await _is_direct(connection)
                await app.run_worker_async(
                    queues=queues,
                    concurrency=AT_ONCE,
                    listen_notify=direct,
                    fetch_job_polling_interval=LOOK_SECONDS if direct else POOLED_LOOK_SECONDS,
                    abort_job_polling_interval=HOUR_SECONDS,  # the service stops runs through their own rows
                    update_heartbeat_interval=HEARTBEAT_SECONDS,
                    # Wait a day, because a frozen worker may wake up after other workers have taken over its work.
                    stalled_worker_timeout=DAY_SECONDS,
                    shutdown_graceful_timeout=0,
                    delete_jobs="always",
                    install_signal_handlers=False,
                )
        except (exceptions.ConnectorException, psycopg.Error) as error:
            log.info("the queue's worker has ended: %s", " ".join(str(error.__cause__ or error).split()))

    def _app(self, execute: Execute, lost: asyncio.Event) -> procrastinate.App:
        connector = procrastinate.PsycopgConnector(
            kwargs={**self._given, "prepare_threshold": None},
            min_size=1,
            max_size=4,
            timeout=CONNECT_SECONDS,
            configure=_configure,
        )
        app = procrastinate.App(connector=connector)

        @app.task(name="execute", pass_context=True)
        async def run(context: job_context.JobContext, name: str) -> None:
            assert context.job.id is not None
            assert context.job.worker_id is not None
            work = asyncio.ensure_future(execute(name, context.job.id, context.job.worker_id))
            while not work.done():
                try:
                    await asyncio.wait([work])
                except asyncio.CancelledError:  # procrastinate's worker cancels this task when it ends
                    lost.set()
            work.result()

        # procrastinate notices a failed heartbeat only if it has a periodic task.
        @app.periodic(cron="17 * * * *")
        @app.task(name="forget", queue=_EVERYBODY, queueing_lock="forget")
        async def forget(timestamp: int) -> None:
            """Remove the queue jobs of workers that died an hour ago.

            Since then, new queue jobs have dispatched the same runs and jobs.
            """
            for job in await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=HOUR_SECONDS):
                assert job.id is not None
                await app.job_manager.finish_job_by_id_async(job.id, jobs.Status.FAILED, delete_job=True)

        return app


async def _configure(connection: psycopg.AsyncConnection[Any]) -> None:
    await connection.set_autocommit(True)
    if await _is_direct(connection):  # a pooler would keep the setting for its other clients
        # The start and the end of a queue job need no flush to the disk, because the claim of its run is written
        # afterwards and is flushed.
        await connection.execute("SET synchronous_commit = off")


async def _is_direct(connection: psycopg.AsyncConnection[Any]) -> bool:
    """Return whether the connection reaches the server without a connection pooler between them.

    A pooler would report another process id than the server.
    """
    row = await (await connection.execute("SELECT pg_backend_pid()")).fetchone()
    return row is not None and row[0] == connection.info.backend_pid
