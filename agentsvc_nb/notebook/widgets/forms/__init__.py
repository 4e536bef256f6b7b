"""A tool's input as a form.

fields     a JSON Schema as a tree of fields          checking   what is wrong with a value, field by field
writing    a value as a `%%tool` cell                 describing all of it as a static output
bounded    the judge of values, in bounded time
leaves     one input of the form                      groups     inputs that hold others
building   which field becomes which input            view       the form and its buttons
progress   a job of it while it goes on               tool_form  what a user holds: it calls the tool

The first five know nothing of ipywidgets.
"""
