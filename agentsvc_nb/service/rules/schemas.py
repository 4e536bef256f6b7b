"""Structured output: which `output_config` is accepted, and whether an answer fits it (contract §2).

jsonschema is imported when it is needed: beside JupyterLab it takes a second to load, for an optional format checker
(docs/decisions/0005-lazy-jsonschema.md). Call `fault` and `misfit` in a thread.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import unquote

from agentsvc_nb.service.rules import documents
from agentsvc_nb.wire.limits import OUTPUT_CONFIG_BYTES

Schema = dict[str, Any]

_SCHEMA: Final = (
    *("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"),
    *("unevaluatedItems", "unevaluatedProperties", "contentSchema"),
)
_SCHEMAS_BY_NAME: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_SCHEMA_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_QUICK_SCHEMAS: Final = 1000
_QUICK_REFERENCE_CHARS: Final = 200


def fault(config: object) -> str | None:
    """Why `config` is no acceptable schema, in one sentence; None when it is one."""
    if not isinstance(config, dict):
        return "output_config must be a JSON Schema object."
    if len(json.dumps(config).encode()) > OUTPUT_CONFIG_BYTES:
        return "output_config is larger than 64 KB."
    if config.get("type") != "object":
        return 'output_config must have "type": "object" at its root.'
    import jsonschema

    try:
        jsonschema.Draft202012Validator.check_schema(config)
    except jsonschema.SchemaError as error:
        return f"output_config is not a valid JSON Schema: {error.message[:200]}"
    except RecursionError:
        return "output_config is nested too deeply."
    except OverflowError as error:  # `re` of a pattern like a{99999999999}
        return f"output_config is not a valid JSON Schema: {error}"
    return _reference_fault(config)


def misfit(text: str, config: Schema) -> str | None:
    """Why `text` is not a JSON document that fits the schema; None when it is."""
    try:
        value = documents.read(text)
    except ValueError as error:
        return f"The answer is not JSON: {error}."
    import jsonschema

    fault = next(jsonschema.Draft202012Validator(config).iter_errors(value), None)
    return None if fault is None else f"{fault.json_path}: {fault.message[:200]}"


def is_quick(config: Schema) -> bool:
    """Whether trying an answer takes no longer than reading it: no regular expressions, no references that fan out.

    References to a few schemas, as in each model of models, are no harm: they count as if written out.
    """
    pending, seen = [config], 0
    while pending:
        schema, seen = pending.pop(), seen + 1
        moved = "$id" in schema and schema is not config  # references within are resolved from there
        if seen > _QUICK_SCHEMAS or moved or schema.keys() & {"pattern", "patternProperties"}:
            return False
        pending.extend(_children(schema))
        if "$ref" in schema:
            reference = str(schema["$ref"])
            # An anchor is searched for, and a long path walked, each time: that is not quick.
            near = reference.startswith("#/") and len(reference) <= _QUICK_REFERENCE_CHARS
            if not near or (target := _resolve(config, reference)) is None:
                return False
            pending.append(target)
    return True


def as_object(text: str | None) -> Schema | None:
    """The final text as data, when it is a JSON object (spec.md "Agent Run")."""
    if not text or not text.lstrip().startswith("{"):
        return None
    try:
        value = documents.read(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _reference_fault(config: Schema) -> str | None:
    graph: dict[int, set[int]] = {}
    for schema in _subschemas(config):
        if "$dynamicRef" in schema or "$recursiveRef" in schema:
            return "output_config must not use dynamic references."
        if "$ref" in schema:
            target = _resolve(config, schema["$ref"])
            if target is None:
                return f"output_config has a reference that is remote or leads nowhere: {schema['$ref']!r}."
            graph.setdefault(id(schema), set()).add(id(target))
        graph.setdefault(id(schema), set()).update(id(child) for child in _children(schema))
    return "output_config must not be recursive." if _has_cycle(graph) else None


def _subschemas(schema: Schema) -> Iterator[Schema]:
    pending = [schema]
    while pending:
        found = pending.pop()
        yield found
        pending.extend(_children(found))


def _children(schema: Schema) -> list[Schema]:
    """The schemas directly within one; what stands in `const`, `enum` or a property's name is none."""
    found: list[Any] = [schema.get(name) for name in _SCHEMA]
    for name in _SCHEMAS_BY_NAME:
        found += value.values() if isinstance(value := schema.get(name), dict) else ()
    for name in _SCHEMA_LISTS:
        found += value if isinstance(value := schema.get(name), list) else ()
    return [child for child in found if isinstance(child, dict)]


def _resolve(root: Schema, reference: object) -> Schema | None:
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    pointer = unquote(reference[1:])
    if pointer and not pointer.startswith("/"):
        return next((schema for schema in _subschemas(root) if schema.get("$anchor") == pointer), None)
    found: Any = root
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and name.isdigit() and int(name) < len(found):
            found = found[int(name)]
        elif isinstance(found, dict) and name in found:
            found = found[name]
        else:
            return None
    return found if isinstance(found, dict) else None


def _has_cycle(graph: dict[int, set[int]]) -> bool:
    """Depth first, without recursion: a schema may be nested deeper than Python's stack."""
    done: set[int] = set()
    for start in graph:
        path: list[tuple[int, Iterator[int]]] = [(start, iter(graph[start]))]
        on_path = {start}
        while path:
            node, rest = path[-1]
            following = next(rest, None)
            if following is None:
                path.pop()
                on_path.discard(node)
                done.add(node)
            elif following in on_path:
                return True
            elif following not in done:
                on_path.add(following)
                path.append((following, iter(graph.get(following, ()))))
    return False
