"""A case: a function that builds a model and its arguments, `def gpt(module): return model, args`."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from scanify.errors import ScanifyError
from scanify.verify.cases.command import Command, parse_command
from scanify.verify.cases.defined import missing, no_function

EXAMPLE = "def gpt(module): return module.GPT(CONFIG, key=jax.random.key(0)), (tokens,)"


class CaseError(Exception):
    """An error in a case, for its author; becomes the `error` of the case's result."""


@dataclass(frozen=True)
class CaseSpec:
    """The place of a case: a file, a function in it, and `text`, the name given by its user.

    With a `command` the calls that it makes are the cases; `path` is then its file or its folder, `function` "".
    """

    path: Path
    function: str
    text: str
    command: Command | None = None


def parse_case(text: str, base: Path | None = None) -> CaseSpec:
    """Parse the case `FILE:FUNCTION`; a relative FILE is relative to `base`, by default the current directory.

    Raises ScanifyError if the text has another form, or if there is no such file, or no such function in it.
    """
    file, colon, function = text.rpartition(":")
    if not colon or not file or not function.isidentifier():
        raise ScanifyError(f"a case is named FILE:FUNCTION, such as cases.py:gpt; got {text!r}")
    path = (base or Path.cwd()) / file
    if path.suffix != ".py":
        raise ScanifyError(f"{text}: expected a Python file (.py) before the colon, got {file!r}")
    if not path.is_file():
        kind = "is a directory" if path.is_dir() else "does not exist"
        raise ScanifyError(f"{text}: the case file {path} {kind}")
    wrong = missing(path, function)
    if wrong is not None:
        raise ScanifyError(f"{text}: {wrong}")
    return CaseSpec(path, function, text)


def command_case(text: str, folder: Path) -> CaseSpec:
    """Return the case for the calls of a command. Raises the ScanifyErrors of `parse_command`."""
    command = parse_command(text, folder)
    return CaseSpec(Path(command.target) if command.kind == "file" else folder / command.target, "", text, command)


def find_function(module: ModuleType, spec: CaseSpec) -> Callable[[ModuleType], object]:
    """Return the case's function in its imported file. Raises CaseError if it is missing, or takes no module."""
    function = vars(module).get(spec.function)
    if function is None:
        names = [name for name, value in vars(module).items() if _is_own_function(value, module)]
        raise CaseError(no_function(spec.path, spec.function, names))
    if not callable(function):
        raise CaseError(f"{spec.text} is not a function but {article(function)}; a case looks like\n    {EXAMPLE}")
    try:
        inspect.signature(function).bind(module)
    except TypeError:
        takes = f"{spec.function}{inspect.signature(function)}"
        raise CaseError(
            f"{spec.text} must take one argument, the module of the model; it is {takes}. "
            f"A case looks like\n    {EXAMPLE}"
        ) from None
    except ValueError:  # callables without a signature, such as some written in C: the call itself will show it
        pass
    found: Callable[[ModuleType], object] = function
    return found


def check_returned(returned: object, spec: CaseSpec) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Return `(model, args, kwargs)` from the result of a case. Raises CaseError with the expected and actual types."""

    def wrong(what: str) -> CaseError:
        return CaseError(
            f"{spec.text}: expected the case to return (model, args) or (model, args, kwargs), {what}. "
            f"A case looks like\n    {EXAMPLE}"
        )

    if not isinstance(returned, tuple):
        raise wrong(f"got {article(returned)}")
    if len(returned) not in (2, 3):
        types = ", ".join(type(item).__name__ for item in returned)
        raise wrong(f"got a tuple of {len(returned)}" + (f" ({types})" if types else ""))
    model, args = returned[:2]
    kwargs = returned[2] if len(returned) == 3 else {}
    if not callable(model):
        raise wrong(f"with a model that can be called; got {article(model)}")
    if not isinstance(args, tuple):
        raise wrong(f"with a tuple of the call's arguments, such as (tokens,); got {article(args)}")
    if not isinstance(kwargs, dict):
        raise wrong(f"with a dict of the call's keyword arguments; got {article(kwargs)}")
    names = [key for key in kwargs if not isinstance(key, str)]
    if names:
        raise wrong(f"with keyword arguments by name; got the key {names[0]!r}")
    return model, args, kwargs


def article(value: object) -> str:
    """Return the type of `value` with an article: `None`, `an int`, `a list`, `an array float32[4]`."""
    if value is None:
        return "None"
    if hasattr(value, "shape") and hasattr(value, "dtype") and not isinstance(value, type):
        return f"an array {value.dtype}{list(value.shape)}"
    name = f"class {value.__qualname__}" if isinstance(value, type) else type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIO' else 'a'} {name}"


def _is_own_function(value: object, module: ModuleType) -> bool:
    return inspect.isfunction(value) and value.__module__ == module.__name__
