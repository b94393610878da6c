"""`python -m tests.probes --count 2000 --seed 0`: mutated models, each rewrite that is called safe run and compared."""

import argparse
import difflib
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial

from scanify.analysis.plan import Plan
from tests.probes.check import Checked, Outcome, check, safe
from tests.probes.compose import FAMILIES
from tests.probes.models import models

_KEEP = 150  # compiled programs are forgotten after so many probes
_STRIDE = 1_000_000  # probes with different --seed never overlap


def blind(plan: Plan) -> bool:
    """Call every plan safe: a tool that shows nothing, which the probes must tell."""
    return True


def answers(seeds: range, jobs: int, **asked: object) -> Iterator[Checked]:
    """Check the probes of some seeds, in order if there is one process."""
    one = partial(check, **asked)  # type: ignore[arg-type]
    if jobs == 1:
        for count, seed in enumerate(seeds, 1):
            yield one(seed)
            if count % _KEEP == 0 and "jax" in sys.modules:
                sys.modules["jax"].clear_caches()
        return
    # A forked process would share the threads of jax.
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=_KEEP) as pool:
        yield from pool.imap_unordered(one, seeds, chunksize=4)


def told(one: Checked) -> str:
    """Return a probe in words: its mutation, what came of it, and both changes as differences of text."""
    probe = one.probe
    head = f"seed {probe.seed} {one.outcome.value}: {probe.model}; {probe.family}: {probe.how}; {probe.what}"
    if probe.family not in ("patch", "class") or one.outcome is Outcome.CRASH:
        head += f" (in {probe.watched})" if probe.watched != probe.target else ""
    original = next(each for each in models() if each.name == probe.model).files
    lines = [head, one.detail]
    for old, new in ((original, probe.files), (probe.files, one.files or probe.files)):
        for name, text in new.items():
            lines += difflib.unified_diff(old.get(name, "").splitlines(), text.splitlines(), name, name, "", "", 2, "")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.probes", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="the number of probes")
    parser.add_argument("--seed", type=int, default=0, help="which probes")
    parser.add_argument("--from", type=int, default=0, dest="start", help="the first probe, to run a slice")
    parser.add_argument("--family", choices=list(FAMILIES), help="probes with a mutation of this kind alone")
    parser.add_argument("--jobs", type=int, default=1, help="the number of processes")
    parser.add_argument("--static", action="store_true", help="rewrite, and run nothing")
    parser.add_argument("--blind", action="store_true", help="accept every plan: these must differ")
    parser.add_argument("--verbose", action="store_true", help="every probe that differs whole")
    parser.add_argument("--show", type=int, metavar="N", help="print the probe of a number, and what becomes of it")
    given = parser.parse_args()
    asked = {"family": given.family, "static": given.static, "accept": blind if given.blind else safe}
    first = given.seed * _STRIDE + given.start
    if given.show is not None:
        print(told(check(given.show, **asked)))
        return 0
    begun, found = time.perf_counter(), Counter[tuple[str, Outcome]]()
    for one in answers(range(first, first + given.count), given.jobs, **asked):
        found[one.probe.family, one.outcome] += 1
        if one.bad or (one.outcome is Outcome.LOUD and given.verbose):
            text = told(one)
            print(f"{text}\n" if given.verbose else "\n".join(text.splitlines()[:2]), flush=True)
        elif one.outcome is Outcome.LOUD:
            print(told(one).partition("\n")[0], one.detail.strip().splitlines()[-1], flush=True)
    print(table(found))
    print(f"seconds {time.perf_counter() - begun:.0f}")
    return 1 if any(outcome in (Outcome.DIFFERS, Outcome.CRASH) for _, outcome in found) else 0


def table(found: Counter[tuple[str, Outcome]]) -> str:
    """Return how many probes of each family came to what, and the sums."""
    outcomes = [each for each in Outcome if any(outcome is each for _, outcome in found)]
    lines = [f"{'':<14}" + "".join(f"{each.value:>22}" for each in outcomes)]
    lines += [f"{family:<14}" + "".join(f"{found[family, each]:>22}" for each in outcomes) for family in FAMILIES]
    sums = {each: sum(count for (_, outcome), count in found.items() if outcome is each) for each in Outcome}
    lines.append(f"{'all':<14}" + "".join(f"{sums[each]:>22}" for each in outcomes))
    run = sums[Outcome.SAME] + sums[Outcome.DIFFERS] + sums[Outcome.LOUD]
    lines.append(f"called safe and run: {run}; differ: {sums[Outcome.DIFFERS]}; raise: {sums[Outcome.LOUD]}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
