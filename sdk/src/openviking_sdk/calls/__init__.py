"""The table of calls: one function for each, whose signature and docstring both clients have.

A function gives a `Call`, or `Steps` where it takes several. ``scripts/generate_sdk.py`` writes the methods of the clients
from this package. A parameter called ``defaults`` is filled in by the client.
"""
