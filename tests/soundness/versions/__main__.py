"""`python -m tests.soundness.versions --pairs 2000 --seed 0`: random pairs of versions, and what `verify` says of them."""

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from typing import TYPE_CHECKING

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")  # programs that run once
# Every process compiles the same small operations again.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", f"{tempfile.gettempdir()}/scanify-soundness-{os.getuid()}")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

if TYPE_CHECKING:
    from tests.soundness.versions.compared import Answer, Found

EVERY = 50  # pairs between two lines that say how far a run has come


def text(found: "Found", shown: int) -> str:
    """The counts, the reasons why equal ones are not proved (each with a seed), and what is wrong."""

    def told(title: str, answers: "list[Answer]") -> list[str]:
        return [
            f"{title}: seed {each.pair.seed}, {each.pair.before.form} against {each.pair.after.form}, "
            f"changed: {each.pair.changed}; {each.why}"
            for each in answers[:shown]
        ]

    lines = [
        f"pairs of versions            {found.pairs}",
        f"equal by construction        {found.equal}",
        f"  PROVED                     {found.proved}",
        f"  only tested                {found.tested}",
        f"  not verified               {found.equal - found.proved - found.tested}",
        *(f"    {len(seeds):5}  {why} (seed {seeds[0]})" for why, seeds in found.commonest[: 2 * shown]),
        f"differing                    {found.pairs - found.equal}",
        f"  PROVED wrongly             {sum(each.proved for each in found.wrong)}",
        f"  VERIFIED wrongly           {len(found.wrong)}",
        f"made and seen otherwise      {len(found.harness)} (a mistake of this test)",
    ]
    return "\n".join([*lines, *told("wrong", found.wrong), *told("test", found.harness)])


def main() -> int:
    from tests.soundness.versions.compared import Found, compared

    parser = argparse.ArgumentParser(prog="python -m tests.soundness.versions", description=__doc__)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--observe", type=int, default=8, metavar="N", help="of N pairs one is run without scanify, too"
    )
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--json", action="store_true", help="the counts alone")
    asked = parser.parse_args()
    for stopped in (signal.SIGINT, signal.SIGTERM):  # which a shell has its background jobs ignore
        signal.signal(stopped, signal.default_int_handler)
    found, start = Found(), time.perf_counter()
    try:
        for answer in compared(asked.seed, asked.pairs, asked.jobs, asked.observe):
            found.add(answer)
            seconds = time.perf_counter() - start
            if found.pairs % EVERY == 0:
                equal = f"{found.proved} of {found.equal} equal ones PROVED, {len(found.wrong)} wrong"
                far = f"{found.pairs} pairs in {seconds:.0f} s, to seed {answer.pair.seed}: {equal}"
                print(far, file=sys.stderr, flush=True)
            if seconds > asked.seconds:
                break
    except KeyboardInterrupt:
        print(f"stopped; --seed {asked.seed + found.pairs} goes on", file=sys.stderr)
    if asked.json:
        counts = {"pairs": found.pairs, "equal": found.equal, "proved": found.proved}
        print(json.dumps(counts | {"wrong": len(found.wrong), "harness": len(found.harness)}))
    else:
        print(text(found, 20 if asked.verbose else 6))
        print(f"seconds                      {time.perf_counter() - start:.0f}")
    return 1 if found.wrong or found.harness else 0


if __name__ == "__main__":
    sys.exit(main())
