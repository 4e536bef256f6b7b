"""What stands in a model's place: a program that is told nothing but requests.

A mind is a generator: it is given the first words of a turn, yields calls of tools, is sent their results, and returns
its answer. For each request it begins anew, and is sent the results that stand in the request; so between two requests
it remembers nothing, and goes on after a crash as a model does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator

from tests.unit.agents.tasks.asked import Asked, Call, Result, read
from tests.unit.agents.wires.reply import Body, Reply, pieces

Thought = Generator[Call, Result, str]
Mind = Callable[[Asked], Thought]


def reply(mind: Mind, body: Body) -> Reply:
    """What the mind answers to a request."""
    asked = read(body)
    thought = mind(asked)
    try:
        step = next(thought)
        for call, result in asked.made:
            assert step == call, f"the request has a call that was not made: {call} for {step}"
            step = thought.send(result)
    except StopIteration as end:
        return Reply(tuple(pieces(end.value)))
    assert step.tool in asked.tools, f"{step.tool} is not offered"
    # What it thinks goes back with the call, as providers want it.
    return Reply(thinking=(f"Next: {step.tool}.",), calls=((step.tool, json.dumps(step.given)),))


def call(tool: str, **given: object) -> Call:
    return Call(tool, given)
