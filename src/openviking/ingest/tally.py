"""Counting what an import does, while it does it."""

from __future__ import annotations

from dataclasses import dataclass, field

from openviking.ingest.delivery import Scan
from openviking.model.imports import Failed, ImportReport, Kept, Renamed
from openviking.uri import from_path


@dataclass(slots=True)
class Tally:
    """An `ImportReport` that grows; ``counts`` are its numbers of files, ``scan`` what the source held."""

    root_uri: str = ""
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("created", "updated", "unchanged", "removed"), 0)
    )
    kept: list[Kept] = field(default_factory=list)
    binary: list[str] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    renamed: list[Renamed] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    scan: Scan = field(default_factory=Scan)
    passages: int = 0
    bytes: int = 0
    seconds: float = 0.0
    cancelled: bool = False
    updated_root: bool = False

    def report(self) -> ImportReport:
        """The finished report."""
        return ImportReport(
            root_uri=self.root_uri,
            **self.counts,
            kept=tuple(self.kept),
            binary=tuple(self.binary),
            skipped=tuple(self.scan.skipped),
            failed=(*self.scan.failed, *self.failed),
            renamed=tuple(self.renamed),
            passages=self.passages,
            bytes=self.bytes,
            seconds=self.seconds,
            warnings=tuple(self.warnings),
            cancelled=self.cancelled,
            updated_root=self.updated_root,
        )

    def keep(self, name: str, path: str, why: str) -> None:
        """Note a file of the store that was left alone."""
        uri = str(from_path(path))
        self.kept.append(Kept(name, uri, why))
        self.warnings.append(f"{uri}: {why}")

    def fail(self, name: str, error: str) -> None:
        """Note a file of the source that was not taken."""
        self.failed.append(Failed(name, error))
