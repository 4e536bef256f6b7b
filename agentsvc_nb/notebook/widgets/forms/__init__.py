"""The form of a tool's input.

checking       validation of a value, field by field; does not import ipywidgets
inputs         the input of one field                      groups, lists  inputs that contain others
view           the form, its buttons, and the choice of the input for a field
tool_form      the cell value: it calls the tool and follows its job

`jobs.fields` reads the schema, `jobs.cell_input` writes the cell.
"""
