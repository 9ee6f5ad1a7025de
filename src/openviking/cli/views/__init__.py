"""How results look to a person: each view writes lines to a screen and knows nothing of the store."""
