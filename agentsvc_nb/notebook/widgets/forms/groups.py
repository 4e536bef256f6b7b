"""Inputs that contain others: the base of objects and lists, multiple choice, optional fields, alternatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import ipywidgets

from agentsvc_nb.documents.schemas import Path
from agentsvc_nb.notebook.jobs.fields import MISSING, Field, same
from agentsvc_nb.notebook.widgets import design
from agentsvc_nb.notebook.widgets.forms.checking import ChosenAlternative
from agentsvc_nb.notebook.widgets.forms.inputs import InputNotes, Messages, Node, ReadNotes, one_message

BOXES_MAX: Final = 12
"""Up to this number, choices are checkboxes; more are a list."""


class InputFactory(Protocol):
    """Creates the inputs within a group. `building.Builder` implements it; importing that here would be a cycle."""

    def changed(self) -> None: ...

    def within(self, of: Field, start: Any) -> Node: ...

    def variant_of(self, variants: Sequence[Field], value: Any) -> int: ...


class InputGroup:
    """The base of inputs that contain others (`parts`), with a description and error of its own."""

    def __init__(self, of: Field, maker: InputFactory) -> None:
        self.field = of
        self.maker = maker
        self.touched = False
        self._below = InputNotes(of.about)
        self.body = ipywidgets.VBox()
        self.view = ipywidgets.VBox([self._below.view, self.body])
        self.view.add_class("asvc-group")

    def parts(self) -> dict[str | int, Node]:
        """The inputs in the group, by key or index."""
        return {}

    def say(self, messages: Messages, everything: bool) -> None:
        parts = self.parts()
        inner: dict[str | int, dict[Path, str]] = {key: {} for key in parts}
        own: dict[Path, str] = {}
        for path, said in messages.items():
            if path and path[0] in inner:
                inner[path[0]][path[1:]] = said
            else:
                own[path] = said
        for key, node in parts.items():
            node.say(inner[key], everything)
        self._below.say(one_message(own) if everything or self.touched else "", loud=not everything)

    def call(self, title: str) -> None:
        pass

    def focus(self) -> None:
        for node in self.parts().values():
            return node.focus()

    def changed(self) -> None:
        """Report that an item was added, removed or chosen."""
        self.touched = True
        self.maker.changed()


class TitledGroup(InputGroup):
    """A group with its title above it."""

    def __init__(self, of: Field, maker: InputFactory) -> None:
        super().__init__(of, maker)
        self._head = design.text("")
        self._head.add_class("asvc-title")
        self.call(of.title)
        self.view.children = [self._head, *self.view.children]

    def call(self, title: str) -> None:
        design.put(self._head, title + (" *" if self.field.required and self.field.name else ""))


class ChoicesInput(TitledGroup):
    """The input of a list of distinct options; its value has them in the order of the schema."""

    def __init__(self, of: Field, start: Any, maker: InputFactory) -> None:
        super().__init__(of, maker)
        self._had = start is not MISSING
        options = of.options
        self._values = [value for _, value in options]
        on = [any(same(value, one) for one in start) if self._had else False for value in self._values]
        if len(options) <= BOXES_MAX:
            self._boxes = [
                ipywidgets.Checkbox(value=ticked, description=name, indent=False, tooltip=of.title)
                for (name, _), ticked in zip(options, on, strict=True)
            ]
            self._list = None
            self.body.children = self._boxes
        else:
            lines = [(name, number) for number, (name, _) in enumerate(options)]
            chosen = [number for number, ticked in enumerate(on) if ticked]
            self._list = ipywidgets.SelectMultiple(options=lines, value=chosen, rows=8, description=of.title)
            self._boxes = [self._list]
            self._head.layout.display = "none"
            self.body.children = [self._list]
        self.body.add_class("asvc-field")
        for box in self._boxes:
            box.observe(lambda _: self.changed(), "value")

    def focus(self) -> None:
        self._boxes[0].focus()

    def read(self, noted: ReadNotes, path: Path) -> Any:
        if self._list is not None:
            chosen = [self._values[at] for at in sorted(self._list.value)]
        else:
            chosen = [value for box, value in zip(self._boxes, self._values, strict=True) if box.value]
        return chosen if chosen or self._had or self.field.required else MISSING


class OptionalInput(InputGroup):
    """An input behind a checkbox; unticked, its value is `off` (MISSING or null). Created when first ticked."""

    def __init__(self, of: Field, off: Any, ticked: bool, make: Callable[[], Node], maker: InputFactory) -> None:
        super().__init__(of, maker)
        self._off = off
        self._make = make
        self._node: Node | None = None
        self._box = ipywidgets.Checkbox(value=ticked, description=of.title, indent=False)
        self._box.tooltip = "Unticked: null" if off is None else "Unticked: left out"
        self.view.children = [self._box, *self.view.children]
        self.body.add_class("asvc-inner")
        self._show()
        self._box.observe(self._on_box, "value")

    def say(self, messages: Messages, everything: bool) -> None:
        if self._ticked is not None:
            self._ticked.say(messages, everything)
        else:
            super().say(messages, everything)

    def call(self, title: str) -> None:
        self._box.description = title

    def focus(self) -> None:
        self._box.focus()

    def read(self, noted: ReadNotes, path: Path) -> Any:
        if self._ticked is None:
            return self._off
        value = self._ticked.read(noted, path)
        if value is not MISSING and (some := self.field.nullable) is not None:
            at = [one.kind != "nothing" for one in self.field.variants()].index(True)
            noted.chosen[path] = ChosenAlternative(at, some.schema, value)
        return value

    @property
    def _ticked(self) -> Node | None:
        return self._node if self._box.value else None

    def _on_box(self, _: object) -> None:
        self._show()
        self.changed()

    def _show(self) -> None:
        if self._box.value and self._node is None:
            self._node = self._make()
        self.body.children = [] if self._ticked is None else [self._ticked.view]
        self._below.hide(self._ticked is not None)  # the inner input has the same description


class VariantsInput(TitledGroup):
    """The input of alternatives. The input of each is created when it is first chosen, and kept."""

    def __init__(self, of: Field, start: Any, maker: InputFactory) -> None:
        super().__init__(of, maker)
        self._fields = of.variants()
        self._made = dict[int, Node]()
        at = 0 if start is MISSING else maker.variant_of(self._fields, start)
        self._head.layout.display = "none"
        lines = [(one.title, number) for number, one in enumerate(self._fields)]
        self._kind = ipywidgets.Dropdown(options=lines, value=at, description=f"{of.title} is")
        self._kind.style.description_width = "auto"
        self._kind.add_class("asvc-field")
        self.view.children = [self._kind, *self.view.children]
        self._show(start)
        self._kind.observe(self._on_kind, "value")

    def say(self, messages: Messages, everything: bool) -> None:
        self._made[self._kind.value].say(messages, everything)

    def focus(self) -> None:
        self._kind.focus()

    def read(self, noted: ReadNotes, path: Path) -> Any:
        at = self._kind.value
        value = self._made[at].read(noted, path)
        if value is not MISSING:
            noted.chosen[path] = ChosenAlternative(
                at, self._fields[at].schema, value
            )  # of nested alternatives, the outer one
        return value

    def _on_kind(self, _: object) -> None:
        self._show(MISSING)
        self.changed()

    def _show(self, start: Any) -> None:
        at = self._kind.value
        if at not in self._made:
            self._made[at] = self.maker.within(self._fields[at], start)
        self.body.children = [self._made[at].view]


def fold(title: str, parts: Sequence[ipywidgets.Widget]) -> list[ipywidgets.Widget]:
    """Return a button that hides and shows the parts, and the box of the parts."""
    button = design.button(f"▾ {title}", "Hide this part")
    button.add_class("asvc-fold")
    box = ipywidgets.VBox(list(parts))

    def pressed(_: object) -> None:
        hidden = box.layout.display != "none"
        box.layout.display = "none" if hidden else None
        button.description = f"{'▸' if hidden else '▾'} {title}"
        button.tooltip = "Show this part" if hidden else "Hide this part"

    button.on_click(pressed)
    return [button, box]
