"""Models: the built-in one, and services that speak a documented protocol."""
