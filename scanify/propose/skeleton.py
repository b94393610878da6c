"""The case that is to be written by hand where none could be proposed: the constructor's parameters, without values."""

import ast


def skeleton(text: str, cls: str) -> str:
    """A case for a class of a file, with `...` for what its author knows."""
    arguments = ", ".join(_argument(each) for each in _parameters(text, cls))
    name = cls.lower()
    model = f"module.{cls}({arguments or '...'})"
    return f"def {name}(module):\n    model = {model}\n    return model, (...,)  # the call's arguments"


def _argument(name: str) -> str:
    return f"{name}={'jax.random.key(0)' if name in ('key', 'rng') else '...'}"


def _parameters(text: str, cls: str) -> list[str]:
    """The parameters that the constructor of a class needs, where it has one of its own that this Python can read."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return []
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == cls:
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                    return _needed(method.args)
    return []


def _needed(args: ast.arguments) -> list[str]:
    positional = [*args.posonlyargs, *args.args][1:]
    required = positional[: len(positional) - len(args.defaults)] if args.defaults else positional
    keywords = [each for each, default in zip(args.kwonlyargs, args.kw_defaults, strict=True) if default is None]
    return [each.arg for each in (*required, *keywords)]
