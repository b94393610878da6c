"""Deciding about files: each loop over modules becomes a plan or a refusal."""

import ast
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import libcst as cst

from scanify.analysis.comprehension import Node as Comprehension
from scanify.analysis.comprehension import comprehensions_of
from scanify.analysis.folded import plan_reduce
from scanify.analysis.mapped import IGNORE, apart_from_lists, plan_appending, plan_comprehension, plan_map, refused
from scanify.analysis.plan import Analysis, Holds, InitStack, Plan, Refusal, Skipped
from scanify.analysis.planner import loops_of, plan_loop
from scanify.analysis.project import Module, Project
from scanify.analysis.sequential import apart_from_sequentials, sequential_loops
from scanify.analysis.stack_choice import Context, StackChoice
from scanify.analysis.walking_calls import walking_calls
from scanify.source.file import Source
from scanify.source.gate import may_hold_layer_loop
from scanify.source.parse import SyntaxProblem

_NAME = re.compile(r"[^\W\d]\w*")
_BELOW = frozenset({"equinox", "jax", "jaxtyping"})


def decide(
    sources: Sequence[Source],
    candidates: Sequence[Source],
    others: Sequence[Source],
    stack: StackChoice,
    read: Callable[[Path], Source | None] | None,
) -> Analysis:
    """The answer of `scanify.analysis.analyse`, where only `candidates` may hold a loop over layers."""
    context = Context(Project([*sources, *others], read), stack)
    loops: list[Plan | Refusal] = []
    skipped: list[Skipped] = []
    for source in candidates:
        found, problem = _decisions(context, source)
        loops += found
        skipped += [problem] if problem is not None else []
    if loops:
        for source in others:
            if _may_share_a_list(source, loops) and may_hold_layer_loop(source.text):
                loops += _decisions(context, source)[0]
    loops.sort(key=lambda one: (str(one.place.path), one.place.span.start))
    apart = [_below_scanify(context.project, one) for one in apart_from_lists(apart_from_sequentials(loops))]
    named = {source.path for source in sources}
    decided = [one for one in _one_container_each(apart) if one.place.path in named]
    return Analysis(len(sources), tuple(decided), tuple(skipped))


def _decisions(context: Context, source: Source) -> tuple[list[Plan | Refusal], Skipped | None]:
    """The loops of one file, or why it was skipped."""
    module = context.project.module_at(source.path)
    if module is not None:
        return [*_loops(context, module), *sequential_loops(context, module)], None
    problem = context.project.problems.get(source.path)
    return [], Skipped(source.path, _syntax_error(source.text, problem)) if problem is not None else None


def _may_share_a_list(source: Source, loops: Sequence[Plan | Refusal]) -> bool:
    """Whether another file may walk or build a list of these loops: what holds a list depends on all who walk it."""
    for one in loops:
        if isinstance(one, Refusal) or not isinstance(one.stack, InitStack):
            continue
        name = (_NAME.findall(one.container) or [""])[-1]
        built = any(site.place.path == source.path for site in one.stack.sites)
        if built or (name and name in source.text) or (not one.loops and "Sequential" in source.text):
            return True
    return False


def _below_scanify(project: Project, one: Plan | Refusal) -> Plan | Refusal:
    """A loop in a package that scanify is made with can't be rewritten: `import scanify` in it would import itself."""
    module = project.module_at(one.place.path)
    package = module.name.partition(".")[0] if module is not None else ""
    if isinstance(one, Refusal) or package not in _BELOW:
        return one
    reason = f"the rewrite imports `scanify`, which imports `{package}` itself"
    return refused(one, "SCN212", reason, "leave this loop as it is")


def _one_container_each(loops: Sequence[Plan | Refusal]) -> list[Plan | Refusal]:
    """A list that two loops walk is held by one container: a `BlockSeq` where either loop needs it."""
    lists = {
        site
        for one in loops
        if isinstance(one, Plan) and one.holds is Holds.BLOCK_SEQ and isinstance(one.stack, InitStack)
        for site in one.stack.sites
    }
    return [
        replace(one, holds=Holds.BLOCK_SEQ)
        if isinstance(one, Plan) and isinstance(one.stack, InitStack) and lists.intersection(one.stack.sites)
        else one
        for one in loops
    ]


def _syntax_error(text: str, problem: SyntaxProblem) -> str:
    """What is wrong in Python's own words, which are plainer than those of a grammar."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as error:
        return f"syntax error on line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError):
        pass
    return f"syntax error on line {problem.line}: {problem.message}"


def _loops(context: Context, module: Module) -> list[Plan | Refusal]:
    found: list[Plan | Refusal] = []
    covered = -1
    text, tree = module.parsed.source.text, module.parsed.module
    nodes: list[cst.For | Comprehension | cst.Call] = [*loops_of(tree), *comprehensions_of(tree)]
    nodes += walking_calls(text, tree)
    for node in sorted(nodes, key=lambda one: module.parsed.span(one).start):
        decision = _decision(context, module, node)
        if isinstance(decision, Plan) and decision.place.span.start < covered:
            decision = _inside(decision)
        elif isinstance(decision, Plan):
            covered = decision.place.span.end
        if decision is not None:
            found.append(decision)
    return found


def _decision(context: Context, module: Module, node: cst.For | Comprehension | cst.Call) -> Plan | Refusal | None:
    if isinstance(node, cst.Call):
        return plan_map(context, module, node) or plan_reduce(context, module, node)
    if not isinstance(node, cst.For):
        return plan_comprehension(context, module, node)
    if _ignored(node):
        return None
    return plan_appending(context, module, node) or plan_loop(context, module, node)


def _inside(plan: Plan) -> Refusal:
    remedy = "rewrite the outer loop first, then look at this one again"
    return refused(plan, "SCN212", "the loop stands inside another one that is rewritten", remedy)


def _ignored(loop: cst.For) -> bool:
    """Whether the loop's line, or a comment right above it, says `# scanify: ignore`."""
    comments = [line.comment for line in loop.leading_lines]
    if isinstance(loop.body, cst.IndentedBlock):
        comments.append(loop.body.header.comment)
    elif isinstance(loop.body, cst.SimpleStatementSuite):
        comments.append(loop.body.trailing_whitespace.comment)
    return any(comment is not None and IGNORE in comment.value for comment in comments)
