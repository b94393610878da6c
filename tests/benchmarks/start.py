"""What the command costs before it does anything: CPU seconds of a start, and of a long file of unrelated code.

Figures are ratios to something on the same machine: a bare interpreter, and `ast.parse` of the same file.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

LINES = 500_000
UNRELATED = "def f{0}(a, b):\n    for i in range(a):\n        b = b + i\n    return b\n\n"
MODEL = Path(__file__).resolve().parents[2] / "fixtures" / "gpt" / "before.py"


def cpu_seconds(command: list[str], accepted: tuple[int, ...] = (0,)) -> float:
    """User and system time of one run of `command` and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode in accepted, f"{command} ended with {done.returncode}"
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def median(run: Callable[[], float], times: int) -> float:
    run()
    return statistics.median(run() for _ in range(times))


def main() -> None:
    python = sys.executable
    with tempfile.TemporaryDirectory() as folder:
        plain, long = Path(folder, "plain.py"), Path(folder, "long.py")
        plain.write_text("x = 1\n")
        long.write_text("".join(UNRELATED.format(i) for i in range(LINES // 5)))
        check = [python, "-m", "scanify", "check"]
        bare = median(lambda: cpu_seconds([python, "-c", "pass"]), 9)
        start = median(lambda: cpu_seconds([*check, str(plain)]), 9)
        model = median(lambda: cpu_seconds([*check, str(MODEL)], (1,)), 5)
        parse = median(lambda: cpu_seconds([python, "-c", f"import ast; ast.parse(open({str(long)!r}).read())"]), 1)
        unrelated = median(lambda: cpu_seconds([*check, str(long)]), 1)
    print(f"{'':36}{'CPU seconds':>12}  ratio")
    print(f"{'bare interpreter':36}{bare:12.3f}")
    print(f"{'check, nothing to do':36}{start:12.3f}  {start / bare:.1f} x bare ({start - bare:+.3f} s, limit +0.300)")
    print(f"{'check, the GPT fixture':36}{model:12.3f}  {model / bare:.1f} x bare")
    print(f"{f'ast.parse of {LINES:,} lines':36}{parse:12.3f}")
    print(f"{'check of the same':36}{unrelated:12.3f}  {unrelated / parse:.1f} x ast.parse")
    if start - bare > 0.3:
        sys.exit("check takes more than 0.3 s of CPU time above a bare interpreter")


if __name__ == "__main__":
    main()
