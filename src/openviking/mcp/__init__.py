"""The tools that agents get over the Model Context Protocol (contract/core.md §4, mcp-tools.json).

A tool is a plain function from a `Desk` and its arguments to a text; only `protocol` and `stdio` know the protocol's
own package, so that nothing else has to load it.
"""
