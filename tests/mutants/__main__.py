"""A table of the mutants: the check that must tell each, and what the verification said.

`--without CHECK` leaves that check out and lists the mutants that are for it: those that it alone tells are alive.
"""

import contextlib
import io
import sys
import tempfile
from pathlib import Path

import jax
import pytest
from rich.console import Console
from rich.table import Table

from tests.mutants.catalogue import MUTANTS
from tests.mutants.checks import CHECKS, said
from tests.mutants.mutant import Mutant
from tests.mutants.run import verify

ALIVE = "ALIVE: the verification is good"


def main(arguments: list[str]) -> int:
    if arguments and (arguments[0] != "--without" or len(arguments) != 2 or arguments[1] not in CHECKS):
        print(f"usage: python -m tests.mutants [--without CHECK]; the checks are {', '.join(CHECKS)}", file=sys.stderr)
        return 2
    jax.config.update("jax_disable_most_optimizations", True)
    without = arguments[1] if arguments else None
    table = Table("mutant", "check", "only", "what the verification said")
    chosen = [each for each in MUTANTS if without in (None, each.caught)]
    with pytest.MonkeyPatch.context() as patch:
        if without is not None:
            CHECKS[without].disable(patch)
        answers = [_said(each) for each in chosen]
    for each, answer in zip(chosen, answers, strict=True):
        table.add_row(str(each), each.caught, "yes" if each.only else "", answer)
    Console(width=200).print(table)
    checks, alive = len({each.caught for each in chosen}), sum(answer == ALIVE for answer in answers)
    print(f"{len(chosen)} mutants of {checks} check{'s' if checks != 1 else ''}, {alive} alive")
    return 0


def _said(each: Mutant) -> str:
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):  # some models print
        results = verify(each, Path(folder))
        jax.effects_barrier()
    if all(result.good for result in results):
        return ALIVE
    found = said(results, abstract=each.abstract)
    text = found.get(each.caught) or "; ".join(f"{check}: {text}" for check, text in found.items())
    return text.partition("\n")[0][:160]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
