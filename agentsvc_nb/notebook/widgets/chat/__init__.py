"""The chat widget: turns, an input, and once it is closed one static output.

chat         `Chat`, the value of a cell              controller   ask, follow, stop, show turns of others
turns        the turns, without widgets               screen       the turn that goes on
attachments  the attachments of the next message
"""
