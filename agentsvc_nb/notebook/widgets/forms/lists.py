"""Inputs of arrays, with items to add, and of objects, with rows of further keys to add."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import ipywidgets

from agentsvc_nb.documents.schemas import Path
from agentsvc_nb.notebook.jobs.fields import MISSING, Field
from agentsvc_nb.notebook.widgets import design
from agentsvc_nb.notebook.widgets.forms.groups import InputFactory, InputGroup, TitledGroup, fold
from agentsvc_nb.notebook.widgets.forms.inputs import Node, ReadNotes

ITEMS_MAX: Final = 100
_BLANKS: Final = 3
"""The most empty items that a required array begins with, if it has a minimum."""


class ArrayInput(TitledGroup):
    """The input of an array, whose items can be added, removed and moved."""

    def __init__(self, of: Field, start: Any, maker: InputFactory) -> None:
        super().__init__(of, maker)
        self._had = start is not MISSING
        self._item = of.item()
        self._rows: list[_Row] = []
        self._add = design.button("Add", f"Add an item to {of.title}")
        self._add.on_click(lambda _: self._append())
        self.view.children = [*self.view.children, self._add]
        least = of.schema.get("minItems")
        blanks = min(least, _BLANKS) if isinstance(least, int) and of.required else 0
        for value in start if self._had else [MISSING] * blanks:
            self._rows.append(_Row(self, maker.within(self._item, value)))
        self._show()

    def parts(self) -> dict[str | int, Node]:
        return {number: row.node for number, row in enumerate(self._rows)}

    def focus(self) -> None:
        self._rows[0].node.focus() if self._rows else self._add.focus()

    def read(self, noted: ReadNotes, path: Path) -> Any:
        values = []
        for number, row in enumerate(self._rows):
            value = row.node.read(noted, (*path, number))
            if value is MISSING:
                noted.wrong.setdefault((*path, number), "Fill this in, or remove it.")
            values.append(None if value is MISSING else value)
        return values if values or self._had or self.field.required else MISSING

    def remove(self, row: _Row) -> None:
        at = self._rows.index(row)
        del self._rows[at]
        self._show()
        design.discard(row.view)
        (self._rows[min(at, len(self._rows) - 1)].remove if self._rows else self._add).focus()
        self.changed()

    def move(self, row: _Row, by: int) -> None:
        at = self._rows.index(row)
        to = max(0, min(len(self._rows) - 1, at + by))
        self._rows.insert(to, self._rows.pop(at))
        self._show()
        (row.up if by < 0 else row.down).focus()
        self.changed()

    def _append(self) -> None:
        if len(self._rows) < ITEMS_MAX:
            self._rows.append(_Row(self, self.maker.within(self._item, MISSING)))
            self._show()
            self._rows[-1].node.focus()
            self.changed()

    def _show(self) -> None:
        for number, row in enumerate(self._rows, 1):
            row.called(f"{self.field.title} {number}", len(self._rows) > 1)
        self.body.children = [row.view for row in self._rows]
        self._add.disabled = len(self._rows) >= ITEMS_MAX


class _Row:
    """An item of an array with its buttons."""

    def __init__(self, array: ArrayInput, node: Node) -> None:
        self.node = node
        self.up = design.button("Up", "")
        self.down = design.button("Down", "")
        self.remove = design.button("Remove", "")
        self.up.on_click(lambda _: array.move(self, -1))
        self.down.on_click(lambda _: array.move(self, 1))
        self.remove.on_click(lambda _: array.remove(self))
        self._head = [design.text("")] if isinstance(node, ObjectInput) else []  # an object in an array is untitled
        self.view = ipywidgets.VBox([*self._head, node.view, design.row([self.up, self.down, self.remove])])
        self.view.add_class("asvc-item")

    def called(self, title: str, movable: bool) -> None:
        self.node.call(title)
        for head in self._head:
            design.put(head, title)
            head.add_class("asvc-title")
        for button in (self.up, self.down, self.remove):
            button.tooltip = f"{button.description} {title}"
        self.up.layout.display = self.down.layout.display = None if movable else "none"
        self.up.layout.width = self.down.layout.width = "auto"


class ObjectInput(InputGroup):
    """The input of an object: its properties, and if the schema allows further keys, rows of keys and values."""

    def __init__(self, of: Field, start: Any, maker: InputFactory, *, titled: bool = True) -> None:
        super().__init__(of, maker)
        given: Mapping[str, Any] = {} if start is MISSING else start
        self._had = start is not MISSING
        self._fields = list(of.properties())
        self._nodes = {one.name: maker.within(one, given.get(one.name, MISSING)) for one in self._fields}
        self._pairs: list[_Pair] = []
        self._other = of.others()
        self.body.children = [node.view for node in self._nodes.values()]
        if self._other is not None:
            self._further(given)
        if titled and of.name:
            self.view.children = fold(of.title, self.view.children)

    def parts(self) -> dict[str | int, Node]:
        return {**{pair.key.value: pair.node for pair in self._pairs}, **self._nodes}

    def focus(self) -> None:
        for node in self._nodes.values():
            return node.focus()

    def read(self, noted: ReadNotes, path: Path) -> Any:
        found = {}
        for name, node in self._nodes.items():
            if (value := node.read(noted, (*path, name))) is not MISSING:
                found[name] = value
        for pair in self._pairs:
            name = pair.key.value
            value = pair.node.read(noted, (*path, name))
            if not name or name in found or name in self._nodes:
                noted.wrong[path] = "Each row needs a name of its own."
            elif value is MISSING:
                noted.wrong.setdefault((*path, name), "Fill this in, or remove it.")
            else:
                found[name] = value
        left_out = not found and not self._nodes and not self._had and not self.field.required
        return MISSING if left_out else found

    def _further(self, given: Mapping[str, Any]) -> None:
        self._rows = ipywidgets.VBox()
        self._add = design.button("Add a row", f"Add a name and a value to {self.field.title}")
        self._add.on_click(lambda _: self._append())
        for name, value in given.items():
            if name not in self._nodes:
                self._pairs.append(_Pair(self, name, value))
        self.view.children = [*self.view.children, self._rows, self._add]
        self._show()

    def _append(self) -> None:
        if len(self._pairs) < ITEMS_MAX:
            self._pairs.append(_Pair(self, "", MISSING))
            self._show()
            self._pairs[-1].key.focus()
            self.changed()

    def remove(self, pair: _Pair) -> None:
        self._pairs.remove(pair)
        self._show()
        design.discard(pair.view)
        self._add.focus()
        self.changed()

    def value_node(self, start: Any) -> Node:
        assert self._other is not None
        return self.maker.within(self._other, start)

    def _show(self) -> None:
        self._rows.children = [pair.view for pair in self._pairs]
        self._add.disabled = len(self._pairs) >= ITEMS_MAX


class _Pair:
    """A row of an object: a key, its value, and a button that removes both."""

    def __init__(self, owner: ObjectInput, name: str, value: Any) -> None:
        self.key = ipywidgets.Text(name, description="Name", continuous_update=False)
        self.key.style.description_width = "auto"
        self.key.add_class("asvc-field")
        self.key.observe(lambda _: owner.changed(), "value")
        self.node = owner.value_node(value)
        self.remove = design.button("Remove", "Remove this row")
        self.remove.on_click(lambda _: owner.remove(self))
        self.view = ipywidgets.VBox([self.key, self.node.view, self.remove])
        self.view.add_class("asvc-item")
