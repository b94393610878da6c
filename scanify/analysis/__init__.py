"""From source to plans: which loops over modules there are, and what each could become."""

from collections.abc import Callable, Sequence
from pathlib import Path

import libcst as cst

from scanify.analysis.plan import Analysis, Plan, Refusal, Skipped
from scanify.analysis.planner import Context, StackChoice, loops_of, plan_loop
from scanify.analysis.project import Module, Project
from scanify.source.file import Source
from scanify.source.gate import may_hold_layer_loop

__all__ = ["analyse"]

_IGNORE = "scanify: ignore"


def analyse(
    sources: Sequence[Source],
    *,
    stack: StackChoice = None,
    read: Callable[[Path], Source | None] | None = None,
) -> Analysis:
    """Decide about every loop over modules in some files.

    Arguments:
        sources: the files that were asked about, and that a rewrite may change.
        stack: "init" or "call" as on the command line; None takes "init", and "call" for lists built elsewhere.
        read: gives other files of the project, which classes and lists are followed into; None for a file that is not
            there. Without it nothing beyond `sources` is seen.
    """
    project = Project(sources, read)
    loops: list[Plan | Refusal] = []
    skipped: list[Skipped] = []
    for source in sources:
        if not may_hold_layer_loop(source.text):
            continue
        module = project.module_at(source.path)
        if module is not None:
            loops.extend(_loops(Context(project, stack), module))
        elif (problem := project.problems.get(source.path)) is not None:
            skipped.append(Skipped(source.path, f"line {problem.line}: {problem.message}"))
    loops.sort(key=lambda one: (str(one.place.path), one.place.span.start))
    return Analysis(len(sources), tuple(loops), tuple(skipped))


def _loops(context: Context, module: Module) -> list[Plan | Refusal]:
    found: list[Plan | Refusal] = []
    covered = -1
    for loop in loops_of(module.parsed.module):
        decision = None if _ignored(loop) else plan_loop(context, module, loop)
        if isinstance(decision, Plan) and decision.place.span.start < covered:
            decision = _inside(decision)
        elif isinstance(decision, Plan):
            covered = decision.place.span.end
        if decision is not None:
            found.append(decision)
    return found


def _inside(plan: Plan) -> Refusal:
    return Refusal(
        place=plan.place,
        rule="SCN212",
        reason="the loop stands inside another one that is rewritten",
        kind=plan.kind,
        container=plan.container,
        carry=plan.carry,
        xs=plan.xs,
        broadcast=plan.broadcast,
        remedy="rewrite the outer loop first, then look at this one again",
    )


def _ignored(loop: cst.For) -> bool:
    """Whether the loop's line, or a comment right above it, says `# scanify: ignore`."""
    comments = [line.comment for line in loop.leading_lines]
    if isinstance(loop.body, cst.IndentedBlock):
        comments.append(loop.body.header.comment)
    elif isinstance(loop.body, cst.SimpleStatementSuite):
        comments.append(loop.body.trailing_whitespace.comment)
    return any(comment is not None and _IGNORE in comment.value for comment in comments)
