"""One file for each use case, as in `service`."""
