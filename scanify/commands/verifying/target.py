"""Find the file whose module is passed to a case: the only file that defines all names which the case uses."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from scanify.configuration.config import Config
from scanify.errors import ScanifyError
from scanify.source.discover import Selection, walk
from scanify.verify.cases.case import CaseSpec


def target_of(name: str, case: CaseSpec, config: Config) -> Path:
    """Return the file configured for a case, or the only one that defines the names the case takes from its module.

    Raises ScanifyError if there is no such file, or if there are several.
    """
    named = dict(config.files).get(name)
    if named is not None:
        path = config.root / named
        if not path.is_file():
            raise ScanifyError(f"[tool.scanify.cases] {name}: expected file to be a Python file, got {named!r}")
        return path
    taken = _taken(case)
    cure = f"name it in [tool.scanify.cases]: {name} = {{case = {case.text!r}, file = 'model.py'}}"
    if not taken:
        raise ScanifyError(f"{case.text} shows no name that it takes from its module, so its file is not known; {cure}")
    found = [path for path in _files(case, config) if taken <= _defined(path)]
    if len(found) != 1:
        names = ", ".join(str(path.relative_to(config.root)) for path in found[:6])
        which = f"{len(found)} files define" if found else "no file of the project defines"
        said = f"{which} {', '.join(sorted(taken))}{f' ({names})' if found else ''}"
        raise ScanifyError(f"{said}, which {case.text} takes from its module; {cure}")
    return found[0]


def _files(case: CaseSpec, config: Config) -> Iterator[Path]:
    real = case.path.resolve()
    return (
        path for path in walk(config.root, Selection(config.root)) if path.suffix == ".py" and path.resolve() != real
    )


def _taken(case: CaseSpec) -> frozenset[str]:
    """Collect the names that a case reads from its first parameter, including in functions of its file that it uses."""
    tree = _parsed(case.path)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)} if tree else {}
    first = functions.get(case.function)
    if first is None or not (first.args.posonlyargs or first.args.args):
        return frozenset()
    parameter = (first.args.posonlyargs or first.args.args)[0].arg
    waiting, seen, taken = [case.function], set(), set()
    while waiting:
        name = waiting.pop()
        if name in seen or name not in functions:
            continue
        seen.add(name)
        for node in ast.walk(functions[name]):
            if isinstance(node, ast.Name):
                waiting.append(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == parameter:
                taken.add(node.attr)
    return frozenset(taken)


def _defined(path: Path) -> frozenset[str]:
    """Collect the names that a file defines itself; imported names are defined elsewhere."""
    tree = _parsed(path)
    found: set[str] = set()
    for node in tree.body if tree is not None else ():
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
    return frozenset(found)


def _parsed(path: Path) -> ast.Module | None:
    try:
        return ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, OSError):
        return None
