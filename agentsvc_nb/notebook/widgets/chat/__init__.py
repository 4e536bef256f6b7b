"""The chat widget: turns, an input, and once it is closed one static output.

chat    `Chat`, the value of a cell                 controller  ask, follow, stop, show earlier turns
state   the turns, without widgets                  page         the chat's parts of the front end
attach  attachments of a message
"""
