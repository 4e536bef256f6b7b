"""The files of a chat: list, upload, download, preview and search them, show the pictures, and attach files to
questions.
"""
