"""The chat widget: turns and an input, and after the chat is closed, one static output.

chat         `Chat`, the value of a cell              controller   ask, follow, stop, show turns of others
turns        the turns, without widgets               screen       the active turn
attachments  the attachments of the next message
"""
