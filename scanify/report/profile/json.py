"""A profile as the JSON object that `scanify profile --format json` prints."""

from typing import Any

from scanify.report.profile.profile import Profile
from scanify.verify.children.codec import to_json
from scanify.verify.profile.startup import Program, Startup
from scanify.verify.verdict import CaseResult

VERSION = 1


def profile_json(profile: Profile) -> dict[str, Any]:
    """Return an object for `json.dumps(..., allow_nan=False)`.

    Each case has `error` (null, or why there is no profile) and its `programs`, each with its size, times (null if not
    measured) and `loops`. In a loop, `depth` is the number of enclosing loops in the list, `saves` is roughly the
    number of lines that the scan of a rewrite saves (null for other loops), and `advice` is the finding of scanify.
    `rewritten` holds the programs after a rewrite.
    """
    return {
        "version": VERSION,
        "versions": dict(profile.versions),
        "budget": profile.budget,
        "over_budget": list(profile.over()),
        "cases": [_case(profile, case) for case in profile.cases],
    }


def _case(profile: Profile, case: CaseResult) -> dict[str, Any]:
    startup = case.startup or Startup(())
    return {
        "case": case.case,
        "variant": dict(case.variant),
        "error": case.error,
        "notes": list(startup.notes),
        "programs": [_program(profile, program) for program in startup.programs],
        "rewritten": [_program(profile, program) for program in startup.rewritten],
    }


def _program(profile: Profile, program: Program) -> dict[str, Any]:
    figures = to_json(program)
    figures.pop("shares")
    loops = [
        {
            "file": share.loop.file,
            "line": share.loop.line,
            "head": share.loop.head,
            "depth": share.depth,
            "lines": share.lines,
            "turns": share.turns,
            "saves": profile.saves(share),
            "advice": profile.advice(share.loop),
        }
        for share in program.shares
    ]
    return {**figures, "loops": loops}
