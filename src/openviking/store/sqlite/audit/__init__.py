"""The audit of one account's database, piece by piece, and the mending of what it finds."""
