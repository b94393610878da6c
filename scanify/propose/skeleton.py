"""The case to be completed by hand if none could be proposed: the required arguments, without values."""

import ast
from collections.abc import Iterator

from scanify.propose.request import Proposed

_KEYS = ("key", "rng")
_MODULES = ("Module", "eqx.Module", "equinox.Module")
_LONGEST = 60  # of a shown annotation, and half of the space for defaults


def skeleton(text: str, cls: str) -> Proposed:
    """Return a case for a class of a file, with `...` for the values that the author has to fill in."""
    node = _class(text, cls)
    made = [f"{name}={_value(name, 0)},{note}" for name, note in _built_with(node)] if node else []
    made = [*(made or ["...,"]), *(_defaults(node) if node else [])]
    args, kwargs = _called_with(node) if node else ([], [])
    lines = [f"def {cls.lower()}(module):", *_over_lines(f"    model = module.{cls}(", made, ")")]
    lines += _over_lines("    args = (", [f"...,  # {name}{_after(note)}" for name, note in args] or ["...,"], ")")
    answer = "model, args"
    if kwargs:
        pairs = [f'"{name}": {_value(name, 1)},{note}' for name, note in kwargs]
        lines += _over_lines("    kwargs = {", pairs, "}")
        answer += ", kwargs"
    return Proposed(cls, cls.lower(), "\n".join([*lines, f"    return {answer}\n"]))


def _over_lines(head: str, items: list[str], tail: str) -> list[str]:
    return [head, *(f"        {item}" for item in items), f"    {tail}"]


def _value(name: str, seed: int) -> str:
    return f"jax.random.key({seed})" if name in _KEYS else "..."


def _after(note: str) -> str:
    """The annotation of a note, after the name at the start of the comment."""
    return note.replace("  # ", ": ", 1)


def _class(text: str, cls: str) -> ast.ClassDef | None:
    """Return the class, if this Python version can parse the file."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None
    return next((node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == cls), None)


def _built_with(node: ast.ClassDef) -> list[tuple[str, str]]:
    """Return the required arguments of the constructor, with annotations as comments.

    Without a constructor, these are the fields, if the class inherits no others.
    """
    constructor = _method(node, "__init__")
    if constructor is not None:
        positional, keywords = _needed(constructor.args)
        return [*positional, *keywords]
    if any(ast.unparse(base) not in _MODULES for base in node.bases):
        return []
    return list(_fields(node))


def _called_with(node: ast.ClassDef) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    call = _method(node, "__call__")
    return _needed(call.args) if call is not None else ([], [])


def _method(node: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    return next((each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == name), None)


def _needed(args: ast.arguments) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the arguments without a default: positional ones, and keyword-only ones."""
    positional = [*args.posonlyargs, *args.args][1:]
    required = positional[: len(positional) - len(args.defaults)] if args.defaults else positional
    keywords = [each for each, default in zip(args.kwonlyargs, args.kw_defaults, strict=True) if default is None]
    by_place, by_name = ([(each.arg, _note(each.annotation)) for each in some] for some in (required, keywords))
    return by_place, by_name


def _defaults(node: ast.ClassDef) -> list[str]:
    """Return the optional arguments of the constructor as a comment, since the number of layers may be among them."""
    constructor = _method(node, "__init__")
    if constructor is None:
        return []
    args = constructor.args
    positional = [*args.posonlyargs, *args.args]
    given = list(zip(positional[len(positional) - len(args.defaults) :], args.defaults, strict=True))
    given += [(each, value) for each, value in zip(args.kwonlyargs, args.kw_defaults, strict=True) if value is not None]
    texts = [f"{each.arg}={ast.unparse(value)}" for each, value in given]
    return [f"# by default: {', '.join(texts)}"] if 0 < len(", ".join(texts)) <= 2 * _LONGEST else []


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and each.value is None:
            yield each.target.id, _note(each.annotation)


def _note(annotation: ast.expr | None) -> str:
    """Return an annotation as a comment; "" if it is missing or too long."""
    text = "" if annotation is None else ast.unparse(annotation)
    return f"  # {text}" if 0 < len(text) <= _LONGEST and "\n" not in text else ""
