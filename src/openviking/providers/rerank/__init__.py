"""Models that say how well documents answer a query: one file for each wire format (contract/retrieval.md §4.6)."""
