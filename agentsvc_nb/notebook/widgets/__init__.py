"""The widgets: cards, forms, the file browser, the gallery and the chat. Their JavaScript needs no build step.

When a saved notebook is opened again, its widgets are missing. So a static output above each widget describes it and
names the command that shows it again (`outputs.WidgetWithFallback`), or a static output replaces the widget when its
work has ended (`card.LiveOutput`).

front/     the front end of all widgets, in plain JavaScript modules
outputs    the output area of a cell and the screens in it, for each kind of host
card       cards of background runs, bars of background jobs
approvals  cards of calls that wait for approval
raising    the card of a run near its cost limit
asking     the screen of a foreground run, with buttons
browser    the files of a chat as a list or as a grid of pictures
uploads    receive files that a page sends in slices
form       a form for the input of a tool
proposal   a proposed change of a cell
chat/      a conversation with the agent
worker     the worker thread of a widget
"""
