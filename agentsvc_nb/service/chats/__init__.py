"""Chats and projects."""
