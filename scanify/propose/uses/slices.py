"""The statements that a call depends on: a backward slice through its function and its module."""

from __future__ import annotations

import ast
import builtins
import copy
import re
from collections.abc import Callable, Iterator, Sequence, Set

from scanify.propose.values.names import GiveUp

# Calls that load, write or train something are not allowed in a case.
_ACTS = re.compile(
    r"(\w+_)?(load|save|download|pretrained|fetch|open|write|dump|exit|fit|train|main|system|parse_args|input)"
    r"(_\w+)?"
)
_CHANGING = frozenset(("append", "extend", "insert", "update", "add", "setdefault"))
_MOST = 40
_KEY = re.compile(r"(\w+_)?(key|rng|prng(_?key)?|rng_?key)")

Scope = ast.FunctionDef | ast.Module


def calls_in(tree: ast.Module, names: Set[str]) -> Iterator[tuple[ast.Call, tuple[Scope, ...]]]:
    """Yield the calls of `name`, `a.name`, `name.method` and `make_with_state(name)` for the given names.

    Each comes with the enclosing functions, innermost first, and the module.
    """

    def below(node: ast.AST, scopes: tuple[Scope, ...]) -> Iterator[tuple[ast.Call, tuple[Scope, ...]]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Call) and not names.isdisjoint(_words(child.func)):
                yield child, scopes
            yield from below(child, (child, *scopes) if isinstance(child, ast.FunctionDef) else scopes)

    yield from below(tree, (tree,))


def _words(func: ast.expr) -> tuple[str, ...]:
    """Return the last names of a called expression and of the object it is an attribute of."""
    if isinstance(func, ast.Call) and func.args and "make_with_state" in ast.unparse(func.func):
        return _words(func.args[0])
    if isinstance(func, ast.Attribute):
        return (func.attr, func.value.attr if isinstance(func.value, ast.Attribute) else _name(func.value))
    return (_name(func),)


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def flat(body: Sequence[ast.stmt], line: int = 0) -> Iterator[ast.stmt]:
    """Yield the statements of a body in order. Blocks around `line` are flattened; loop targets get the first value."""
    for each in body:
        around = each.lineno <= line <= (each.end_lineno or 0) and hasattr(each, "body")
        if not around or isinstance(each, ast.FunctionDef | ast.ClassDef):
            yield each
            continue
        if isinstance(each, ast.For):
            yield _assign(each.target, f"next(iter({ast.unparse(each.iter)}))", each.lineno)
        for part in ("body", "orelse", "finalbody"):
            inside = getattr(each, part, ())
            if any(one.lineno <= line <= (one.end_lineno or 0) for one in inside) or part == "body":
                yield from flat(inside, line)


def needed(names: set[str], scopes: Sequence[Scope], line: int, known: Callable[[str], bool]) -> list[ast.stmt]:
    """Return copies of the statements before `line` that `names` depend on, in order.

    `known` is true for names that need no statement. Raises GiveUp for a name that is not bound anywhere, and for a
    statement that does more than compute a value.
    """
    wanted, before = set(names), list[ast.stmt]()
    for scope in scopes:
        inner = scope is scopes[0]
        statements = [each for each in flat(scope.body, line if inner else 0) if not inner or each.lineno < line]
        chosen = _chosen(statements, wanted)
        here = [each for each in statements if id(each) in chosen]
        if isinstance(scope, ast.FunctionDef):
            here = [*_parameters(scope, wanted, scopes[-1]), *here]
            wanted |= {name for each in here for name in loads(each)}
        wanted -= _bound(here)
        before = [*here, *before]
    unknown = {name for name in wanted if not known(name) and not hasattr(builtins, name)}
    if unknown:
        raise GiveUp(f"nothing binds `{min(unknown)}`")
    if len(before) > _MOST:
        raise GiveUp("it takes too many statements")
    for each in before:
        demand_values(each)
    return [copy.deepcopy(each) for each in before]


def _chosen(statements: Sequence[ast.stmt], wanted: set[str]) -> set[int]:
    """Return the statements that bind one of `wanted`, or transitively names they read, which are added to it."""
    chosen: set[int] = set()
    while True:
        more = [each for each in reversed(statements) if id(each) not in chosen and binds(each) & wanted]
        if not more:
            return chosen
        chosen |= {id(each) for each in more}
        wanted |= {name for each in more for name in loads(each)}


def binds(statement: ast.stmt) -> set[str]:
    """Return the names that a statement, or one inside of it, binds or modifies; none if it only runs as a script."""
    if isinstance(statement, ast.If) and re.search("__name__|TYPE_CHECKING", ast.unparse(statement.test)):
        return set()
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(each.asname or each.name).partition(".")[0] for each in statement.names}
    inside = [one for part in ("body", "orelse", "handlers") for one in getattr(statement, part, ())]
    inside = [one for each in inside for one in (each.body if isinstance(each, ast.ExceptHandler) else (each,))]
    targets: list[ast.expr] = []
    if isinstance(statement, ast.For):
        targets = [statement.target]
    elif isinstance(statement, ast.With):
        targets = [each.optional_vars for each in statement.items if each.optional_vars]
    elif isinstance(statement, ast.Expr) and isinstance(
        called := getattr(statement.value, "func", None), ast.Attribute
    ):
        targets = [called.value] if called.attr in _CHANGING else []
    elif isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AugAssign | ast.AnnAssign) and statement.value is not None:
        targets = [statement.target]
    return {name for each in targets for name in _bases(each)} | _bound(inside)


def _bases(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        yield from (name for each in target.elts for name in _bases(each))
    elif isinstance(target, ast.Attribute | ast.Subscript | ast.Starred):
        yield from _bases(target.value)


def _bound(statements: Sequence[ast.stmt]) -> set[str]:
    return {name for each in statements for name in binds(each)}


def loads(node: ast.AST) -> set[str]:
    """Return the free names of a statement or expression; a function's parameters and local names are excluded."""
    found = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
    found |= {name for each in ast.walk(node) if isinstance(each, ast.AugAssign) for name in _bases(each.target)}
    own = bound_inside(node)
    if isinstance(node, ast.stmt):
        own -= binds(node)
    return found - own


def bound_inside(node: ast.AST) -> set[str]:
    """Return the names that a statement or expression binds, including parameters and targets of comprehensions."""
    own = binds(node) if isinstance(node, ast.stmt) else set()
    for each in ast.walk(node):
        if isinstance(each, ast.arg):
            own.add(each.arg)
        elif isinstance(each, ast.comprehension):
            own |= set(_bases(each.target))
        elif isinstance(each, ast.FunctionDef | ast.ClassDef):
            own |= _bound(each.body)
    return own


def _parameters(function: ast.FunctionDef, names: set[str], module: Scope) -> list[ast.stmt]:
    """Return assignments for the parameters among `names`: parametrised values, fixtures, defaults, and keys."""
    args = function.args
    positional = [*args.posonlyargs, *args.args]
    defaults = dict(zip([each.arg for each in positional[::-1]], args.defaults[::-1], strict=False))
    defaults |= {each.arg: value for each, value in zip(args.kwonlyargs, args.kw_defaults, strict=True) if value}
    given = _parametrised(function)
    found: list[ast.stmt] = []
    for name in sorted(names & {each.arg for each in (*positional, *args.kwonlyargs)}):
        fixture = next((each for each in module.body if isinstance(each, ast.FunctionDef) and each.name == name), None)
        if name in given:
            found.append(_assign(ast.Name(name, ast.Store()), given[name], 1))
        elif fixture is not None and any("fixture" in ast.unparse(each) for each in fixture.decorator_list):
            plain = copy.copy(fixture)
            plain.decorator_list = []
            found += [*_parameters(fixture, {each.arg for each in fixture.args.args}, module), plain]
            passed = ", ".join(each.arg for each in fixture.args.args)
            found.append(_assign(ast.Name(name, ast.Store()), f"{name}({passed})", 1))
        elif name in defaults:
            found.append(_assign(ast.Name(name, ast.Store()), ast.unparse(defaults[name]), 1))
        elif _KEY.fullmatch(name):
            found.append(_assign(ast.Name(name, ast.Store()), "jax.random.key(0)", 1))
    return found


def _parametrised(function: ast.FunctionDef) -> dict[str, str]:
    """Return the first values passed by `pytest.mark.parametrize`."""
    found: dict[str, str] = {}
    for each in function.decorator_list:
        if not (isinstance(each, ast.Call) and "parametrize" in ast.unparse(each.func) and len(each.args) >= 2):
            continue
        try:
            said = ast.literal_eval(each.args[0])
        except ValueError:
            continue
        names = [name.strip() for name in said.split(",")] if isinstance(said, str) else list(said)
        first = each.args[1].elts[0] if isinstance(each.args[1], ast.List | ast.Tuple) and each.args[1].elts else None
        if isinstance(first, ast.Call) and ast.unparse(first.func).endswith("param"):
            values = first.args
        elif len(names) > 1 and isinstance(first, ast.List | ast.Tuple):
            values = first.elts
        else:
            values = [first] if first is not None else []
        found |= dict(zip(names, map(ast.unparse, values), strict=False))
    return found


def _assign(target: ast.expr, value: str, line: int) -> ast.Assign:
    made = ast.Assign([target], ast.parse(value, mode="eval").body, lineno=line)
    return ast.fix_missing_locations(made)


def demand_values(node: ast.AST) -> None:
    """Raise GiveUp if a statement or expression calls a function that does more than compute a value."""
    for each in ast.walk(node):
        if isinstance(each, ast.Call):
            called = each.func.attr if isinstance(each.func, ast.Attribute) else _name(each.func)
            if _ACTS.fullmatch(called.lower()):
                raise GiveUp(f"it calls `{called}`")
