"""`python -m tests.soundness.versions --pairs 2000 --seed 0`: random pairs of versions, and what `verify` says of them."""

import argparse
import json
import os
import sys
import tempfile
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")  # programs that run once
# Every process compiles the same small operations again.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", f"{tempfile.gettempdir()}/scanify-soundness-{os.getuid()}")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


def main() -> int:
    from tests.soundness.versions.compared import Answer, Found, compared

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
    found, start = Found(), time.perf_counter()

    def told(title: str, answers: list[Answer]) -> None:
        for each in answers[: 20 if asked.verbose else 5]:
            forms = f"{each.pair.before.form} against {each.pair.after.form}"
            print(f"{title}: seed {each.pair.seed}, {forms}, changed: {each.pair.changed}; {each.why}")

    for answer in compared(asked.seed, asked.pairs, asked.jobs, asked.observe):
        found.add(answer)
        if time.perf_counter() - start > asked.seconds:
            break
    if asked.json:
        counts = {"pairs": found.pairs, "equal": found.equal, "proved": found.proved}
        print(json.dumps(counts | {"wrong": len(found.wrong), "harness": len(found.harness)}))
        return 1 if found.wrong or found.harness else 0
    print(f"pairs of versions            {found.pairs}")
    print(f"equal by construction        {found.equal}")
    print(f"  PROVED                     {found.proved}")
    print(f"  only tested                {found.tested}")
    print(f"  not verified               {found.equal - found.proved - found.tested}")
    for why, count in found.reasons.most_common(40 if asked.verbose else 12):
        print(f"    {count:5}  {why}")
    print(f"differing                    {found.pairs - found.equal}")
    print(f"  PROVED wrongly             {sum(each.proved for each in found.wrong)}")
    print(f"  VERIFIED wrongly           {len(found.wrong)}")
    print(f"made and seen otherwise      {len(found.harness)} (a mistake of this test)")
    told("wrong", found.wrong)
    told("test", found.harness)
    print(f"seconds                      {time.perf_counter() - start:.0f}")
    return 1 if found.wrong or found.harness else 0


if __name__ == "__main__":
    sys.exit(main())
