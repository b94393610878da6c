"""`python -m tests.soundness --pairs 10000 --seed 0`: random pairs of programs, and what the prover says of them."""

import argparse
import sys
import time

from tests.soundness.pairs import Found, run

EVERY = 250  # pairs between two lines that say how far a run has come


def text(found: Found) -> str:
    lines = [
        f"pairs                        {found.pairs}",
        f"  jax cannot trace           {sum(found.untraced.values())}",
        f"equal by construction        {found.equal}",
        f"  PROVED                     {found.proved}",
        f"  not proved                 {found.equal - found.proved}",
        *(f"    {count:5}  {why}" for why, count in found.reasons.most_common(12)),
        f"  replayed                   {found.proved - found.unfollowed.total()} of {found.proved}, not followed:",
        *(f"    {count:5}  {why}" for why, count in found.unfollowed.most_common(12)),
        f"changed, and seen to differ  {found.differing}",
        f"  PROVED wrongly             {len([p for p in found.wrong if not p.equal])}",
        f"changed, no difference seen  {found.changed_proved} of them PROVED",
        f"spelled twice, but differing {found.reordered} (sums of cotangents, in another order and rounded)",
        f"  without cotangents         {len(found.harness)} (a mistake of this test)",
    ]
    lines += [f"PROVED wrongly: pair {p.seed // 2}\n{p.before}\n -- and --\n{p.after}" for p in found.wrong[:5]]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soundness", description=__doc__)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verbose", action="store_true", help="what jax cannot trace, and seeds that are not proved")
    asked = parser.parse_args()
    start = time.perf_counter()

    def tell(seed: int, found: Found) -> None:
        if found.pairs % EVERY == 0:
            seconds = time.perf_counter() - start
            equal = f"{found.proved} of {found.equal} equal ones PROVED, {len(found.wrong)} wrong"
            print(f"{found.pairs} pairs in {seconds:.0f} s, to seed {seed}: {equal}", file=sys.stderr, flush=True)

    found = run(asked.seed, asked.pairs, tell)
    print(text(found))
    print(f"seconds                      {time.perf_counter() - start:.0f}")
    if asked.verbose:
        print(*(f"{count:5}  {why}" for why, count in found.untraced.most_common(20)), sep="\n")
        print("one program, two answers:", *(p.seed // 2 for p in found.harness))
        print("not proved:", *(p.seed // 2 for p in found.missed[:40]))
    return 1 if found.wrong or found.harness else 0


if __name__ == "__main__":
    sys.exit(main())
