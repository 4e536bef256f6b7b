"""The widgets: cards, forms, a browser of files, a gallery, a chat. Only ipywidgets' core, no build step.

No widget lives in a notebook that was opened again. So a static output precedes each, which says what it was and how to
bring it back (`with_fallback`), or one replaces it when it ends (`cards.LiveOutput`).

design   style sheet, shared parts, the thread that works for a widget     outputs   where a cell shows things
cards    runs and jobs in the background, approval of calls                with_fallback  a widget and its static output
files    the browser and the gallery, or what stands for them              browser, gallery  their widgets
forms/   a tool's input to fill in and run                                 chat/     a conversation
"""
