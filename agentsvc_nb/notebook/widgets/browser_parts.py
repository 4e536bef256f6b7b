"""The parts of the file browser and where they stand; what they do is in `browser`."""

from __future__ import annotations

import ipywidgets

from agentsvc_nb.notebook.tables import size
from agentsvc_nb.notebook.widgets.design import button, frame, row, text
from agentsvc_nb.notebook.widgets.uploading import UPLOAD_BYTES

ROWS = 200
"""Lines of the list at a time: a list of 100,000 would stop the page."""
_HALF = "1 1 280px"


class Parts:
    """All that can be seen and pressed."""

    def __init__(self) -> None:
        self.status = text("", "muted", role="status")
        self.place = text("")
        self.filter = _field("Names", "a part of the path", live=True)
        self.order = ipywidgets.Dropdown(
            options=[("by name", "name"), ("newest first", "newest"), ("largest first", "largest")],
            description="Sort",
            layout={"width": "auto"},
        )
        self.words = _field("Contents", 'words, "phrases", -without')
        self.search = button("Search", "Search the contents of the files, as %search does")
        self.list = ipywidgets.Select(options=[], rows=12, description="Files", layout={"width": "100%"})
        self.list.add_class("asvc-list")
        self.open = button("Open folder", "Look into the folder that is chosen", look="primary")
        self.up = button("Up", "Go to the folder above")
        self.before = button("Previous", "The lines before")
        self.after = button("Next", "The lines after")
        self.get = button("Get", "Download it into the notebook's folder, as %files get does")
        self.attach = button("Attach", "Give the text that names it in a question")
        self.upload = ipywidgets.FileUpload(
            multiple=True,
            description="Upload",
            tooltip=f"Put files of yours into the chat, up to {size(UPLOAD_BYTES)} at a time",
            layout={"width": "auto"},
        )
        self.refresh = button("Refresh", "List the files anew")
        self.copied = _field("To copy", "")
        self.copied.layout.display = "none"
        self.pane = ipywidgets.HTML()
        self.turning = row([self.before, self.after])
        self.box = self._laid_out()

    def _laid_out(self) -> ipywidgets.VBox:
        narrowing = row([self.filter, self.order, self.words, self.search])
        acting = row([self.open, self.up, self.get, self.attach, self.upload, self.refresh])
        left = ipywidgets.VBox([self.place, self.list, self.turning], layout={"flex": _HALF, "min_width": "0"})
        right = ipywidgets.VBox([self.pane], layout={"flex": _HALF, "min_width": "0"})
        halves = row([left, right])
        halves.add_class("asvc-halves")
        return frame([narrowing, halves, acting, self.copied, self.status])


def _field(name: str, hint: str, *, live: bool = False) -> ipywidgets.Text:
    """`live`: each letter is told at once; else when Enter is pressed or the field is left."""
    return ipywidgets.Text(
        description=name, placeholder=hint, continuous_update=live, layout={"width": "auto", "flex": "1 1 200px"}
    )
