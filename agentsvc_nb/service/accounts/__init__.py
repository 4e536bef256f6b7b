"""Accounts: keys, sessions, money and feedback."""
