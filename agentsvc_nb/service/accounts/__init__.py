"""Accounts: API keys, browser sessions, money and feedback."""
