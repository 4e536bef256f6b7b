"""A page that hosts one anywidget and nothing else, under a strict policy, as the sandboxed pages of editors do.

Its module is loaded from a blob: URL; scripts and styles that are written into the page are forbidden, everything that
could be fetched is, and Trusted Types are enforced. The widget's kernel is this process: what it sends is queued, and
the page asks for it.
"""

from __future__ import annotations

import base64
import json
from collections import deque
from typing import Any, Final

from comm.base_comm import BaseComm
from playwright.sync_api import ConsoleMessage, Page, Route

ADDRESS: Final = "http://host.example/"
POLICY: Final = (
    "default-src 'none'; script-src 'nonce-host' blob:; style-src 'nonce-host'; img-src data:;"
    " require-trusted-types-for 'script'; trusted-types agentsvc-nb; base-uri 'none'; form-action 'none'"
)
_PAGE: Final = """<!doctype html><html lang="en"><head><title>A host of widgets</title>
<style nonce="host">:root { color-scheme: light dark } body { background: Canvas; color: CanvasText }</style></head>
<body><main id="place"></main><script type="module" nonce="host">
const { state } = await kernel({ do: "state" });
const heard = new Set();
const encoded = (buffer) => btoa([...new Uint8Array(buffer)].map((byte) => String.fromCharCode(byte)).join(""));
const model = {
  get: (name) => state[name],
  on: (event, act) => event === "msg:custom" && heard.add(act),
  off: (event, act) => heard.delete(act),
  send: (content, callbacks, buffers = []) => { kernel({ do: "send", content, buffers: buffers.map(encoded) }) },
};
const url = URL.createObjectURL(new Blob([state._esm], { type: "text/javascript" }));
const widget = (await import(url)).default;
await widget.render({ model, el: document.getElementById("place") });
for (;;) {
  for (const content of await kernel({ do: "receive" })) for (const act of [...heard]) act(content, []);
  await new Promise((wake) => setTimeout(wake, 30));
}
</script></body></html>"""


class HostComm(BaseComm):
    """A comm whose messages are queued for the page."""

    def __init__(self, *args: Any, **keys: Any) -> None:
        self.queue: deque[Any] = deque()
        super().__init__(*args, **keys)

    def publish_msg(self, msg_type: str, data: Any = None, *_: Any, **__: Any) -> None:
        if isinstance(data, dict) and data.get("method") == "custom":
            self.queue.append(json.loads(json.dumps(data["content"])))


class Host:
    """A browser with pages that host widgets whose comms are `HostComm`s."""

    def __init__(self, browser: Any) -> None:
        self._browser = browser
        self.requests: list[str] = []
        self.errors: list[str] = []

    def _note(self, said: ConsoleMessage) -> None:
        if said.type == "error":
            self.errors.append(said.text)

    def open(self, front: Any, policy: str = POLICY) -> Page:
        """A page that shows this widget."""
        page: Page = self._browser.new_page(viewport={"width": 1000, "height": 900})
        page.expose_function("kernel", lambda message: self._answer(front, message))
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.route("**/*", lambda route: self._serve(route, policy))
        page.goto(ADDRESS)
        page.wait_for_selector(".asvc")
        return page

    def _serve(self, route: Route, policy: str) -> None:
        if route.request.url == ADDRESS:
            headers = {"Content-Security-Policy": policy}
            route.fulfill(body=_PAGE, content_type="text/html; charset=utf-8", headers=headers)
        else:
            route.abort()

    def _answer(self, front: Any, message: dict[str, Any]) -> Any:
        match message["do"]:
            case "state":
                return {"state": {name: front.get_state()[name] for name in ("_esm", "base", "sheet")}}
            case "send":
                buffers = [memoryview(base64.b64decode(each)) for each in message["buffers"]]
                data = {"method": "custom", "content": message["content"]}
                front.comm.handle_msg({"content": {"data": data}, "buffers": buffers})
                return None
        received = []
        while front.comm.queue:
            received.append(front.comm.queue.popleft())
        return received
