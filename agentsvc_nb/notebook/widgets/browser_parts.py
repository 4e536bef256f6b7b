"""The parts of the file browser and where they stand; what they do is in `browser`."""

from __future__ import annotations

from typing import Final

import ipywidgets

from agentsvc_nb.notebook.widgets.design import Markup, button, frame, row, text
from agentsvc_nb.notebook.widgets.uploading import upload_button

ROWS: Final = 200
"""Lines of the list at a time: a list of 100,000 would stop the page."""
_HALF: Final = "1 1 260px"
STYLE: Final = """<style>
.asvc .asvc-list { flex-direction: column; align-items: stretch; margin: 2px 0; }
.asvc .asvc-list > label { width: auto; max-width: 100%; text-align: left; }
.asvc .asvc-list > select { width: 100%; min-height: 220px; box-sizing: border-box; }
.asvc .asvc-pane { max-height: 330px; overflow: auto; overflow-wrap: anywhere; padding: 4px;
    border: 1px solid var(--jp-border-color2, #8884); }
.asvc .asvc-pane img { max-width: 100%; }
</style>"""


class Parts:
    """All that can be seen and pressed."""

    def __init__(self) -> None:
        self.status = text("", "muted", role="status")
        self.filter = _field("Names", "a part of the path", live=True)
        self.order = ipywidgets.Dropdown(
            options=[("by name", "name"), ("newest first", "newest"), ("largest first", "largest")],
            description="Sort",
            style={"description_width": "initial"},
            layout={"width": "auto"},
        )
        self.words = _field("Contents", 'words, "phrases", -without')
        self.search = button("Search", "Search the contents of the files, as %search does")
        self.list = ipywidgets.Select(options=[], rows=14, layout={"width": "auto"})
        self.list.add_class("asvc-list")
        self.earlier = button("Line up", "Choose the line above")
        self.later = button("Line down", "Choose the line below")
        self.open = button("Open", "Look into the folder that is chosen", look="primary")
        self.up = button("Up", "Go to the folder above")
        self.before = button(f"Previous {ROWS}", "The lines before these")
        self.after = button(f"Next {ROWS}", "The lines after these")
        self.get = button("Get", "Download it into the notebook's folder, as %files get does")
        self.attach = button("Attach", "Give the text that names it in a question")
        self.upload = upload_button("Put files of yours into the chat; %files put takes larger ones")
        self.refresh = button("Refresh", "List the files anew")
        self.copied = _field("To copy", "")
        self.copied.layout.display, self.copied.layout.flex = "none", "0 0 auto"
        self.pane = Markup()
        self.paging = row([self.before, self.after])
        self.box = self._laid_out()

    def _laid_out(self) -> ipywidgets.VBox:
        narrowing = row([self.filter, self.order, self.words, self.search])
        acting = row([self.get, self.attach, self.upload, self.refresh])
        moving = row([self.open, self.up, self.earlier, self.later])
        left = ipywidgets.VBox([self.list, moving, self.paging], layout={"flex": _HALF, "min_width": "0"})
        right = ipywidgets.VBox([self.pane], layout={"flex": _HALF, "min_width": "0"})
        halves = row([left, right])
        halves.layout.align_items = "flex-start"
        style = ipywidgets.HTML(STYLE, layout={"display": "none"})
        return frame([style, narrowing, halves, acting, self.copied, self.status])


def _field(name: str, hint: str, *, live: bool = False) -> ipywidgets.Text:
    """`live`: each letter is told at once; else when Enter is pressed or the field is left."""
    return ipywidgets.Text(
        description=name,
        placeholder=hint,
        continuous_update=live,
        style={"description_width": "initial"},
        layout={"width": "auto", "flex": "1 1 200px"},
    )
