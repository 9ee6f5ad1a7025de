"""The HTTP door: requests into calls of `service`, answers and errors into envelopes."""
