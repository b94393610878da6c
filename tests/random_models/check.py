"""One model of a seed: rewritten by the whole tool and held against its own loop."""

import traceback
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np

from scanify.analysis.plan import Plan
from scanify.pipeline import Project, rewrite_sources
from tests.random_models.model import Model, random_model
from tests.random_models.run import Run, run
from tests.texts import texts

PATH = Path("/nowhere/model.py")
EAGER, JIT = 50, 200  # every so manyth model is also called without a trace, or compiled


@dataclass(frozen=True)
class Checked:
    """What became of the loops of a model, and what is wrong with the result.

    `held` names the containers of the loops rewritten, `refused` holds `(rule, reason)` for each of the others, of which
    `unseen` were not found to be loops over layers. `wrong` says how the outputs or effects differ, `crash` what only
    the rewritten model (or the rewriter) raises. `raises`: the loop raises itself, which is then to be kept.
    """

    seed: int
    model: Model
    held: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    unseen: int = 0
    unsafe: bool = False
    text: str | None = None
    raises: str | None = None
    wrong: str | None = None
    crash: str | None = None


def check(seed: int, target: str = "scanify") -> Checked:
    """Rewrite the model of a seed to a target, run both, and compare.

    Fixes with obligations are applied where the model meets them, which one that holds a hazard need not.
    """
    model = random_model(seed)
    project = Project.of_text(model.text.encode(), PATH, root=PATH.parent)
    accept = (lambda plan: plan.safe) if model.planted else (lambda plan: True)
    try:
        outcome = rewrite_sources(
            project,
            stack=model.stack,
            remat=model.remat,
            accept=accept,
            target=target,  # type: ignore[arg-type]
        )
    except Exception:  # any exception of the tool is a finding
        return Checked(seed, model, crash=traceback.format_exc())
    loops = outcome.analysis.loops
    held = tuple(plan.holds.value for plan in outcome.applied)
    refused = [(one.rule, one.reason) for one in outcome.refused]
    refused += [("held back", texts(plan.obligations)[0]) for plan in outcome.held]
    unseen = max(0, model.loops - len(loops))
    unsafe = any(not plan.safe for plan in loops if isinstance(plan, Plan))
    if not outcome.applied:
        return Checked(seed, model, held, tuple(refused), unseen, unsafe)
    new = outcome.texts[PATH]
    raises = wrong = crash = None
    for how in ("traced", *(("eager",) if seed % EAGER == 0 else ()), *(("jit",) if seed % JIT == 1 else ())):
        with jax.enable_x64(True):
            loop, scan = run(model.text, keyed=model.keyed, how=how), run(new, keyed=model.keyed, how=how)
        raises = raises or (loop.trace or None)
        if scan.error is not None and loop.error is None:
            crash = crash or f"{how}: {scan.trace}"
        else:
            found = differs(loop, scan)
            wrong = wrong or (f"{how}: {found}" if found else None)
    return Checked(seed, model, held, tuple(refused), unseen, unsafe, new, raises, wrong, crash)


def differs(loop: Run, scan: Run) -> str | None:
    """What the rewritten model does otherwise than the loop, None where nothing."""
    if scan.error != loop.error:
        return f"the loop raises {loop.error}, the rewritten model {scan.error}"
    if scan.printed != loop.printed:
        return f"the loop prints {loop.printed!r}, the rewritten model {scan.printed!r}"
    if scan.left != loop.left:
        return f"the loop leaves {loop.left}, the rewritten model {scan.left}"
    if len(scan.arrays) != len(loop.arrays):
        return f"the loop gives {len(loop.arrays)} arrays, the rewritten model {len(scan.arrays)}"
    for index, (ours, theirs) in enumerate(zip(scan.arrays, loop.arrays, strict=True)):
        if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape):
            return f"array {index}: {theirs.dtype}{theirs.shape} became {ours.dtype}{ours.shape}"
        if not np.allclose(ours, theirs, rtol=1e-9, atol=1e-12, equal_nan=True):
            return f"array {index}: {theirs} became {ours}"
    return None
