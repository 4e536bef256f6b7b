"""The widgets: cards, forms, a file browser, a gallery, a chat. Without a build step.

A widget is lost when its notebook is opened again. So a static output precedes each, which describes it and names the
command that brings it back (`outputs.WidgetWithFallback`), or replaces it at its end (`cards.LiveOutput`).

design   style sheet, shared parts, a widget's worker thread
outputs  the outputs of a cell, by host; a widget below its static output
cards    runs and jobs in the background, approval of calls
browser  the files of a chat as a list and a grid           uploads  files that a page sends in slices
chat/    a conversation                                     forms/   a form for a tool's input
front/   the front end of the chat and the files, plain modules
"""
