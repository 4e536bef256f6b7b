"""The form of a tool's input.

checking   validation of a value, field by field    inputs     the input of one field
groups, lists    inputs that contain others         building   the choice of the input for a field
view       the form and its buttons                 tool_form  the cell value: it calls the tool and follows its job

`checking` does not import ipywidgets. `tools.fields` reads the schema, `tools.writing` writes the cell.
"""
