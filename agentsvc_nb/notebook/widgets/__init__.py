"""The widgets: cards, forms, a file browser, a gallery, a chat. Built with the widgets of ipywidgets, no build step.

A widget is lost when its notebook is opened again. So a static output precedes each, which describes it and names the
command that brings it back (`with_fallback`), or replaces it at its end (`cards.LiveOutput`).

design   style sheet, shared parts, a widget's worker thread       outputs        the outputs of a cell, by host
cards    runs and jobs in the background, approval of calls        with_fallback  a widget below its static output
files    browser and gallery, or their static form                 browser, gallery  the widgets of both
forms/   a form for a tool's input                                 chat/          a conversation
"""
