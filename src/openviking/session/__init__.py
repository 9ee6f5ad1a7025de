"""Conversations: their messages, what a commit archives, and the context that the next turn gets."""
