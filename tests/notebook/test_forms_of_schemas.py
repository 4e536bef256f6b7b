"""Forms of all tools and of random schemas: what is sent is right by the schema, or the form says why it is not."""

from __future__ import annotations

from typing import Any

import ipywidgets
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from agentsvc_nb.notebook.jobs import cell_input
from agentsvc_nb.notebook.widgets.forms.view import FormView
from tests.contract.test_every_tool import CATALOG, RIGHT, bad_inputs
from tests.notebook.driven_forms import INPUTS, covers, form, inside, valid
from tests.notebook.form_schemas import TEXTS, Schema, any_schemas, roots

NO_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
"""A form is too slow to be tried a thousand times."""
SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
CHOICES = (ipywidgets.Dropdown, ipywidgets.SelectMultiple)


@pytest.mark.parametrize("tool", sorted(CATALOG))
def test_the_right_input_of_every_tool_is_sent_and_is_a_cell(tool: str) -> None:
    schema = CATALOG[tool].Input.model_json_schema()
    with form(schema, RIGHT[tool]) as (view, sent):
        view.run_button.click()
        assert covers(sent[0], RIGHT[tool])
        CATALOG[tool].Input.model_validate(sent[0])
        cell = cell_input.as_cell(tool, CATALOG[tool].asynchronous, sent[0])
        assert cell_input.read_input(cell.partition("\n")[2], {}) == sent[0]


@pytest.mark.parametrize("tool", sorted(CATALOG))
def test_a_wrong_input_of_every_tool_is_not_sent_and_its_field_named(tool: str) -> None:
    for name, wrong in bad_inputs(tool):
        with form(CATALOG[tool].Input.model_json_schema(), wrong) as (view, sent):
            view.run_button.click()
            if sent:  # an object that was missing has been filled with its own defaults
                assert name not in wrong
                assert valid(CATALOG[tool].Input.model_json_schema(), sent[0])
            else:
                assert f"<li>{name}" in view.summary.value


@settings(max_examples=120, deadline=None, phases=NO_SHRINKING, suppress_health_check=SLOW)
@given(pair=roots())
def test_a_right_value_is_held_and_sent_as_it_is(pair: tuple[Schema, dict[str, Any]]) -> None:
    schema, value = pair
    with form(schema, value) as (view, sent):
        view.run_button.click()
        assert covers(view.value, value)
        assert (sent == [view.value]) is valid(schema, view.value)
        body = cell_input.as_cell("tool", False, view.value).partition("\n")[2]
        assert cell_input.read_input(body, {}) == view.value


@settings(max_examples=80, deadline=None, phases=NO_SHRINKING, suppress_health_check=SLOW)
@given(schema=any_schemas() | roots().map(lambda pair: pair[0]), data=st.data())
def test_whatever_is_done_what_is_sent_is_right_or_the_form_says_why_not(schema: Schema, data: st.DataObject) -> None:
    with form(schema) as (view, sent):
        for _ in range(data.draw(st.integers(0, 5))):
            _do_something(view, data)
        view.run_button.click()
        if sent:
            assert valid(schema, sent[0]) or "only the service can" in view.status.value
        else:
            assert 'role="alert"' in view.summary.value
            assert "<li>" in view.summary.value


def _do_something(view: FormView, data: st.DataObject) -> None:
    controls = [one for one in inside(view.root.view) if _can_be_used(one)]
    if not controls:
        return
    control = data.draw(st.sampled_from(controls))
    if isinstance(control, INPUTS):
        control.value = data.draw(TEXTS | st.sampled_from(["{", "[1]", "1e999", "NaN", "-3", "2.5", "9" * 5000]))
    elif isinstance(control, ipywidgets.Checkbox):
        control.value = not control.value
    elif isinstance(control, ipywidgets.Button):
        control.click()
    elif isinstance(control, ipywidgets.Dropdown):
        control.index = data.draw(st.sampled_from(range(len(control.options))))
    else:
        control.index = data.draw(st.sets(st.sampled_from(range(len(control.options)))).map(sorted))


def _can_be_used(one: Any) -> bool:
    return isinstance(one, (*INPUTS, *CHOICES, ipywidgets.Checkbox, ipywidgets.Button)) and not one.disabled
