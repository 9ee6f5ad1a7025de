"""Memories that commits make: which are wanted, what a model or the conversation itself says, and how it is applied."""
