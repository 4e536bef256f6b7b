"""A conversation as a widget: its turns, a place to write, and in the end one static output.

chat    `Chat`, the value of a cell                 controller  ask, follow, stop, show earlier turns
state   the turns, without widgets                  view, turns the widgets of a chat and of a turn
attach  files that go along with a message
"""
