"""The form of a tool's input.

checking   validation of a value, field by field    inputs     the input of one field
groups, lists    inputs that hold others            building   which input a field gets
view       the form and its buttons                 tool_form  what a user holds: it calls the tool and follows its job

`checking` does not import ipywidgets. `tools.fields` reads the schema, `tools.writing` writes the cell.
"""
