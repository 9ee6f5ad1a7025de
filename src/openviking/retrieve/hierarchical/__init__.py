"""Searching by walking through directories (contract/retrieval.md §8)."""
