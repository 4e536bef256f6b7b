"""Lists of runs and jobs over HTTP (docs/api/runs.md "Lists")."""

from __future__ import annotations

from typing import get_args

from starlette.responses import Response

from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.http.responses import answer
from agentsvc_nb.service.runs import lists
from agentsvc_nb.service.runs.list_records import Wanted
from agentsvc_nb.wire.limits import PAGE_MAX, WORK_PAGE_DEFAULT
from agentsvc_nb.wire.runs import RunStatus
from agentsvc_nb.wire.tools import JobStatus


async def runs_list(context: RequestContext) -> Response:
    return answer(await lists.of_runs(context.use_case, _wanted(context, get_args(RunStatus))))


async def jobs_list(context: RequestContext) -> Response:
    return answer(await lists.of_jobs(context.use_case, _wanted(context, get_args(JobStatus))))


def _wanted(context: RequestContext, statuses: tuple[str, ...]) -> Wanted:
    given = context.request.query_params
    status = bodies.one_of(context, "status", statuses)
    limit = bodies.integer(context, "limit", WORK_PAGE_DEFAULT, 1, PAGE_MAX)
    return Wanted(context.account, given.get("chat"), status, given.get("after"), limit)
