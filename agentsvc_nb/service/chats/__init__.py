"""Chats, and the projects to which chats may belong."""
