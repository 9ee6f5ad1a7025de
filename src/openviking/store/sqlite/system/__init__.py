"""Accounts, users and keys in one SQLite file beside the accounts' own."""
