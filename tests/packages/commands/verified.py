"""One file of a package verified with its command, in a process whose path has the package."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from tests.packages.commands.result import FALSE, NOT_CALLED, SHORT, UNLIKE, LoopResult
from tests.packages.commands.table import Package, Target

SECONDS = 3600


def verified(
    package: Package, target: Target, folder: Path, python: Path, scanify: Path, out: Path, *, run: bool
) -> list[LoopResult]:
    """Return the results of the loops of a file that ought to be rewritten.

    Proofs are of the policy that `scanify rewrite` writes, and what is proved is also run with random numbers.
    """
    command = [str(python), "-m", "scanify", "verify", target.file, "--no-measure", "--format", "json"]
    command += ["--remat", "full", "--execute", "--time-limit", str(SECONDS), *package.options]
    command += ["--run", target.run] if run else []
    path = os.pathsep.join(map(str, (scanify, folder / package.root)))
    bin_folder = os.pathsep.join((str(python.parent), os.environ["PATH"]))
    env = {**os.environ, "PYTHONPATH": path, "PATH": bin_folder, "JAX_PLATFORMS": "cpu"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=env, cwd=folder, timeout=SECONDS, check=False
        )
        report = json.loads(done.stdout)
        (out / f"{package.name}-{Path(target.file).stem}-{'run' if run else 'before'}.json").write_text(done.stdout)
    except subprocess.TimeoutExpired:
        return _all(package, target, f"took more than {SECONDS} s")
    except json.JSONDecodeError:
        return [_refused(package, target, line, " ".join(done.stderr.split())) for line in target.loops]
    return [_result(package, target, line, report) for line in target.loops]


def _all(package: Package, target: Target, why: str) -> list[LoopResult]:
    return [LoopResult(package.name, target.file, line, why=why) for line in target.loops]


def _refused(package: Package, target: Target, line: int, said: str) -> LoopResult:
    """A loop of a file of which nothing is verified, with what the command says of its line."""
    found = re.search(rf"line {line}: (.*?)(; line \d+: |\)\. To verify)", said)
    why = found[1] if found else said[:400]
    unlike = any(text in why for text in UNLIKE)
    reached = any(text in why for text in SHORT) and NOT_CALLED not in why
    return LoopResult(package.name, target.file, line, reached=reached, unlike=unlike, why=why)


def _result(package: Package, target: Target, line: int, report: dict[str, Any]) -> LoopResult:
    """A loop is reached if a case iterates over it, and PROVED if all of these cases are.

    Where a report does not name its loops, as those of earlier versions, each case counts for all loops of its file.
    """
    reaching, whys = [], []
    for case in report["cases"]:
        reaching += [case] if "loops" not in case and NOT_CALLED not in (case["error"] or "") else []
        for loop in case.get("loops", ()):
            if loop["file"].endswith(target.file) and loop["line"] == line:
                whys += [loop["why"]] if loop.get("why") else []
                reaching += [case] if loop["iterations"] else []
    verdicts = [verdict for case in reaching for verdict in _verdicts(case)]
    bad = [verdict for verdict in verdicts if verdict["status"] != "PROVED"]
    whys += [case["error"] for case in report["cases"] if case["error"]]
    whys = [f"{verdict['status']}: {verdict['reason']}" for verdict in bad] or _left(report, line) or whys
    unlike = not reaching and any(text in whys[0] for text in UNLIKE if whys)
    return LoopResult(
        package.name,
        target.file,
        line,
        reached=bool(reaching),
        proved=bool(verdicts) and not bad,
        unlike=unlike,
        false=any(FALSE in str(verdict["reason"]) for verdict in bad),
        why=" ".join((whys or ["no call of it was recorded"])[0].split())[:400],
    )


def _left(report: dict[str, Any], line: int) -> list[str]:
    """Why the report leaves a loop as it is: none if it does not."""
    said = "; ".join(report.get(key) or "" for key in ("held_back", "not_shown"))
    found = re.search(rf":{line} (?:\(|held back: )(.*?)(?:[);, ]+[^ ]+:\d+ (?:\(|held back: )|$)", said)
    return [found[1]] if found else []


def _verdicts(case: dict[str, Any]) -> list[dict[str, Any]]:
    """Verdicts of a case on the initial parameters, and on outputs and gradients under each policy."""
    found = [policy[what] for policy in case["policies"] for what in ("outputs", "gradients")]
    found += [case["parameters"]] if case["parameters"] else []
    return [verdict for verdict in found if verdict is not None] or [{"status": "NOT RUN", "reason": case["error"]}]
