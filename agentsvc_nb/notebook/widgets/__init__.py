"""What can be clicked: cards, forms, a browser of files, a gallery, a chat. ipywidgets' core only, no build step.

A widget is gone when a notebook is opened again. So each is preceded by a static output that says what it was and how
to bring it back, or is replaced by one when it ends (`stage`).
"""
