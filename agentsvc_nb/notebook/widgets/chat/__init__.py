"""The chat widget: the turns of a chat and an input field. After the chat is closed, one static output replaces it.

chat         `Chat`, the value of a cell
controller   ask questions, follow and stop runs, show turns that were added elsewhere
turns        the turns as data, without widgets
screen       draws the active turn
attachments  the attachments of the next message
"""
