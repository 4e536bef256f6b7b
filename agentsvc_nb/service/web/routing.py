"""The pages' paths, and what answers each."""

from __future__ import annotations

from typing import Final

from starlette.routing import BaseRoute, Route

from agentsvc_nb.service.http.endpoints import runs
from agentsvc_nb.service.web import chats, public, settings, texts
from agentsvc_nb.service.web.page import Page

_PAGES: Final = {
    "/": Page({"GET": public.home}, open=True),
    "/app": Page({"GET": chats.recent}),
    "/app/chats/{chat}": Page({"GET": chats.show}),
    "/app/chats/{chat}/files": Page({"GET": chats.file}),
    "/app/chats/{chat}/text": Page({"GET": texts.show}),
    "/app/runs/{run_id}/events": Page({"GET": runs.events}),
    "/app/runs/{run_id}/cancel": Page({"POST": chats.stop}),
    "/app/runs/{run_id}/calls/{call_id}/approval": Page({"POST": chats.approve}),
    "/app/settings": Page({"GET": settings.show}),
    "/app/settings/keys": Page({"POST": settings.create}),
    "/app/settings/keys/{id}/delete": Page({"GET": settings.confirm, "POST": settings.delete}),
    "/app/feedback": Page({"GET": settings.show_feedback, "POST": settings.send_feedback}),
    "/app/sign-out": Page({"POST": public.sign_out}),
    "/app/sign-in": Page({"GET": public.sign_in}, open=True),
    "/app/api": Page({"GET": public.show}, open=True),
    "/app/terms": Page({"GET": public.terms}, open=True),
    "/app/static/{name}": Page({"GET": public.static}, open=True),
    "/app/{rest:path}": Page({"GET": public.missing}, open=True),
}


def pages() -> list[BaseRoute]:
    return [Route(path, page) for path, page in _PAGES.items()]
