"""Assembles one block of context for a prompt from what was found, within a budget of tokens; pure."""
