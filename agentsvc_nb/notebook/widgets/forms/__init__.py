"""A tool's input as a form.

checking   what is wrong with a value, field by field  leaves     one input of the form
groups, lists    inputs that hold others               building   which field becomes which input
view       the form and its buttons                    progress   a job of it while it goes on
tool_form  what a user holds: it calls the tool

The first knows nothing of ipywidgets. `tools.fields` reads the schema, `tools.writing` writes the cell.
"""
