"""The widgets: cards, forms, a file browser, a gallery, a chat. They need no build step.

A widget is lost when its notebook is reopened. So a static output precedes each widget, describes it, and names the
command that shows it again (`outputs.WidgetWithFallback`), or replaces the widget at its end (`card.LiveOutput`).

front/   the front end of all of them, plain modules        outputs   the outputs of a cell, by host
card     runs and jobs in the background                    approvals calls that wait for approval
browser  the files of a chat as a list and a grid           uploads   files that a page sends in slices
form     a form for a tool's input                          proposal  a change of a cell to accept
chat/    a conversation                                     worker    the thread of a view
"""
