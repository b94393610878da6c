"""Check that rewriting a text gives another one back: the proof that `unroll` needs if no case is run.

Rewrites are trusted, so a loop computes the same as the scan it is rewritten to. Choices of a rewrite that do not
affect the meaning are not compared: the policy, the container (with equal layers for an `ArrayStacked`), the name of a
function over one layer, and imports.
"""

import ast
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import cast

from scanify.analysis.kept_lists import needs_list
from scanify.analysis.obligation import COST
from scanify.analysis.plan import Plan
from scanify.emit.apply import apply_edits
from scanify.emit.edits import Edit
from scanify.emit.unroll.builds import list_of
from scanify.emit.unroll.stacks import CONTAINERS, read_file
from scanify.pipeline import Project, Stack, rewrite_sources


def gives_back(
    project: Project,
    unrolled: Mapping[Path, str],
    wanted: Mapping[Path, str],
    *,
    stack: str | None = None,
    remat: str | None = None,
    target: str = "scanify",
) -> tuple[Plan, ...] | None:
    """Return the plans that rewrite the unrolled texts to the wanted ones; None if they give other texts."""
    loops = project.with_texts(unrolled)
    for safe, keep_lists in ((False, False), (False, True), (True, False)):
        outcome = rewrite_sources(
            loops,
            stack=cast(Stack | None, stack),
            remat=remat,
            accept=lambda plan: plan.safe or not safe,  # noqa: B023
            target=target,
            keep_lists=keep_lists,
        )
        if all(same_program(outcome.texts.get(path, unrolled[path]), text) for path, text in wanted.items()):
            return outcome.applied
    return None


def same_program(first: str, second: str) -> bool:
    """True if two texts are the same program up to the choices of a rewrite."""
    if first == second:
        return True
    try:
        trees = ast.parse(_listed(first)), ast.parse(_listed(second))
    except (SyntaxError, ValueError):
        return False
    one, other = (ast.dump(_plain(tree)) for tree in trees)
    return one == other


def _listed(text: str) -> str:
    """Normalise a program to build the layers of each stack in a list, since building them in one trace is a choice."""
    path = Path("listed.py")
    file = read_file(path, text)
    edits = []
    for node in ast.walk(file.parsed.tree) if file is not None else ():
        assert file is not None
        built = file.built(node)
        layers = list_of(file, built) if built is not None and built.init is not None else None
        if built is not None and layers is not None:
            start, end = file.parsed.start(built.call), file.parsed.end(built.call)
            edits.append(Edit(path, start, end, f"{CONTAINERS[0]}.of({layers})"))
    return apply_edits(text, edits)


def _plain(tree: ast.Module) -> ast.Module:
    """Remove the choices of a rewrite from a program, and rename functions passed to stacks uniformly."""
    tree.body = [each for each in tree.body if not _is_import(each)]
    applied: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Attribute(attr=method), [ast.Name(id=name), *_]) if method.endswith("_via"):
                applied.setdefault(name, f"applied {len(applied)}")
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) if name in CONTAINERS:
                node.id = "Stack"
            case ast.Name(id=name) if name in applied:
                node.id = applied[name]
            case ast.ListComp(generators=[ast.comprehension(target=ast.Name(id=target))]):
                for each in ast.walk(node):
                    if isinstance(each, ast.Name) and each.id == target:
                        each.id = "one of them"
            case ast.FunctionDef(name=name) if name in applied:
                node.name = applied[name]
            case ast.Call():
                node.keywords = [each for each in node.keywords if each.arg != "gradient_checkpointing"]
            case ast.Constant(value=str(text)):
                for name in CONTAINERS:
                    text = text.replace(name, "Stack")
                node.value = text
    return tree


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def obligations_of(plans: Sequence[Plan]) -> list[str]:
    """Return the obligations of loops that the source does not prove."""
    return list(dict.fromkeys(each.text for plan in plans for each in plan.left({COST})))


def elsewhere_of(plans: Iterable[Plan]) -> tuple[str, ...]:
    """Return the obligations about other code that may need the stack, which becomes a list."""
    return tuple(dict.fromkeys(each.text for plan in plans if needs_list(plan) for each in plan.elsewhere))
