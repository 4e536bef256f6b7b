"""What can be clicked: cards, forms, a browser of files, a gallery, a chat. ipywidgets' core only, no build step.

A widget is gone when a notebook is opened again. So each is preceded by a static output that says what it was and how
to bring it back, or is replaced by one when it ends (`stage`).

design   the look, and the few parts all share       stage, opened   the static line before a widget, and its end
outputs  where a cell shows things                   files     the browser and the gallery, or what stands for them
card     a run in the background; approve: its yes   bars      jobs in the background, several at once
browser  files to look through (browser_parts)       gallery   pictures, before and after (gallery_parts)
worker   what takes time, beside the kernel          uploading  files from a button
addressed    a widget hears what its page says
forms/   a tool's input to fill in and run           chat/     a conversation
"""
