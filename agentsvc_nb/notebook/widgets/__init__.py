"""What can be clicked: cards, forms, a browser of files, a gallery, a chat. ipywidgets' core only, no build step.

A widget is gone when a notebook is opened again. So each is preceded by a static output that says what it was and how
to bring it back, or is replaced by one when it ends (`stage`).

design      the look, and the few parts all share
chat        the value of a cell: shown, closed         chat_talk   ask, follow, stop, show earlier turns
chat_state  its turns, and what is left of them. Pure  chat_view   its widgets; chat_turn: one turn's
chat_page   where an answer streams to in widgets      chat_attach, chat_approve    what goes along, what waits
chat_calls  what it asks of the service beside its turns
"""
