"""`scanify verify --certificate FILE` and `--replay FILE`: write proofs to a file, and check them."""

import gzip
import importlib.util
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from scanify.commands.verifying.options import CaseRun
from scanify.errors import Exit, ScanifyError
from scanify.replay import replay, seal
from scanify.replay.form import FORMAT, Rejected
from scanify.report.terminal import tell
from scanify.verify.run import versions

if TYPE_CHECKING:
    from scanify.verify.verdict import Verification


@dataclass(frozen=True)
class Keep:
    """Collects the proofs of runs in a folder, to be made into a certificate at the end."""

    path: Path | None
    folder: Path

    def __call__(self, run: CaseRun) -> CaseRun:
        """Return a run that keeps its proofs. The cache is disabled, since a cached result has no proofs."""
        return run if self.path is None else replace(run, certificates=self.folder, cache=None)

    def save(self, result: "Verification") -> None:
        """Write the certificate. Raises ScanifyError if a good result has no proof that could be written."""
        if self.path is not None and result.good:
            _save(self.path, [each.read_text(encoding="utf-8") for each in sorted(self.folder.iterdir())])
        elif self.path is not None:
            tell(f"{self.path} is not written, for the verification failed", err=True)


@contextmanager
def proofs_into(path: str | None) -> Iterator[Keep]:
    """Yield a collector of proofs for the certificate at `path`; with None, nothing is kept."""
    with tempfile.TemporaryDirectory() as folder:
        yield Keep(None if path is None else Path(path), Path(folder))


def _save(path: Path, cases: list[str]) -> None:
    read = [json.loads(each) for each in cases]
    count = sum(len(case["checks"]) for case in read)
    for case in read:
        for why in case["unwritten"]:
            tell(f"{path}: not in the certificate, though it is proved: {case['case']}: {why}", err=True)
    if not count:
        raise ScanifyError(f"--certificate: {path} is not written, for nothing was proved that could be written down")
    given = {"format": FORMAT, "made by": dict(versions()), "cases": read}
    text = json.dumps({**given, "sha256": seal(given)}, separators=(",", ":"))
    data = text.encode()
    try:
        path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    except OSError as error:
        raise ScanifyError(f"--certificate: {path} cannot be written: {error.strerror}") from None
    tell(f"{path}: a certificate of {count} proofs", err=True)


def replay_file(path: str) -> int:
    """Check a certificate and print what it proves. Exits with 3 if it is rejected."""
    try:
        data = Path(path).read_bytes()
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise ScanifyError(f"--replay: {path} cannot be read: {error}") from None
    if importlib.util.find_spec("numpy") is None:
        raise ScanifyError(f"--replay needs numpy, which {sys.executable} does not have: pip install numpy")
    try:
        lines = replay(text)
    except Rejected as why:
        tell(f"{path}: REJECTED: {why}")
        return Exit.VERIFICATION
    for line in lines:
        tell(line)
    tell(f"{path}: {len(lines)} proofs hold")
    return Exit.OK
