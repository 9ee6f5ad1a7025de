"""What a conversation teaches without any model: its statements, its event, and none of its secrets."""
