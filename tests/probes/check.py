"""One probe: rewritten by the whole tool, and run in both versions if anything was rewritten."""

import tempfile
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from scanify.analysis.plan import Plan
from scanify.pipeline import Project, rewrite_sources
from tests.probes.compose import random_probe
from tests.probes.probe import Probe

EAGER = 8  # every so manyth probe is called with arrays that hold values, too


class Outcome(Enum):
    SAME = "same"
    KEPT = "not rewritten"
    REWRITTEN = "rewritten, not run"
    DIFFERS = "DIFFERS"
    LOUD = "LOUD"
    CRASH = "CRASH"
    BROKEN = "does not run itself"
    UNSTEADY = "differs from itself"


@dataclass(frozen=True)
class Checked:
    """The outcome of a probe. `detail`: why it stays, or how the versions differ. `files` are those after the rewrite."""

    probe: Probe
    outcome: Outcome
    detail: str = ""
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def bad(self) -> bool:
        return self.outcome in (Outcome.DIFFERS, Outcome.CRASH)


def safe(plan: Plan) -> bool:
    return plan.safe


def check(
    seed: int, *, family: str | None = None, static: bool = False, accept: Callable[[Plan], bool] = safe
) -> Checked:
    """Rewrite the probe of a seed where `accept` says yes to a plan, run both versions and compare them."""
    probe = random_probe(seed, family)
    try:
        files, why = rewritten(probe.files, accept)
    except Exception:  # any exception of the tool is a finding
        return Checked(probe, Outcome.CRASH, traceback.format_exc())
    if files == probe.files:
        return Checked(probe, Outcome.KEPT, why)
    if static:
        return Checked(probe, Outcome.REWRITTEN, "", files)
    outcome, detail = _run(probe, files)
    return Checked(probe, outcome, detail, files)


def rewritten(files: Mapping[str, str], accept: Callable[[Plan], bool]) -> tuple[dict[str, str], str]:
    """Return the files after the accepted fixes, and the verdicts of the loops that stay."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        (folder / ".git").mkdir()
        for path, text in files.items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(text)
        outcome = rewrite_sources(Project.load([folder]), accept=accept)
        texts = {path.relative_to(folder).as_posix(): text for path, text in outcome.texts.items()}
        said = [_said(each) for each in outcome.analysis.loops if each not in outcome.applied]
    return {path: texts.get(path, text) for path, text in files.items()}, "; ".join(said) or "not listed"


def _said(loop: object) -> str:
    if isinstance(loop, Plan):
        return f"unsafe: {'; '.join(map(str, loop.obligations))}"
    return f"{getattr(loop, 'rule', '')} {getattr(loop, 'reason', loop)}"


def _run(probe: Probe, files: Mapping[str, str]) -> tuple[Outcome, str]:
    from tests.probes.run import run  # jax is not loaded where nothing is run
    from tests.random_projects.compare import differences

    for how in ("traced", *(["eager"] if probe.seed % EAGER == 0 else [])):
        before = run(probe, probe.files, how)
        if before.error is not None:
            return Outcome.BROKEN, f"{how}: {before.trace}"
        after = run(probe, files, how)
        if after.error is None and not (found := differences(before, after)):
            continue
        again = run(probe, probe.files, how)
        if again.error is not None or (unsteady := differences(before, again)):
            return Outcome.UNSTEADY, f"{how}: {again.trace or '; '.join(unsteady)}"
        if after.error is not None:
            return Outcome.LOUD, f"{how}: {after.trace}"
        return Outcome.DIFFERS, f"{how}: {'; '.join(found)}"
    return Outcome.SAME, ""
