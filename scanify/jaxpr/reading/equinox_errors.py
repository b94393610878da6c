"""Compare the callbacks of `equinox.error_if` by the errors they raise.

Each trace creates functions that close over the messages and the stack of that trace, which is only shown; so two
traces of one program never have equal callbacks. A function is recognised only if its code is compiled from the source
of `equinox._errors` and uses the stack in the expected way.
"""

import dis
import sys
import types
from collections.abc import Iterator
from functools import cache

_MODULE = "equinox._errors"

# The captured names of each function. With `on_error="raise"`, the second reports on a TPU what the first cannot.
_CLOSURES = {"_error.<locals>.raises": ("msgs", "stack"), "_error.<locals>.tpu_msg": ("msgs",)}

# `_jit.last_error_info = (msg, stack)`: stored for `equinox.filter_jit`, which shows it with the message.
_SHOWN = [("BUILD_TUPLE", 2), ("LOAD_GLOBAL", "_jit"), ("STORE_ATTR", "last_error_info")]


def messages(function: types.FunctionType) -> tuple[str, ...] | None:
    """Return the messages of a callback of `equinox.error_if`, or None for any other function."""
    module = sys.modules.get(_MODULE)
    if module is None or function.__globals__ is not vars(module) or function.__defaults__ or function.__kwdefaults__:
        return None
    code = function.__code__
    expected = _CLOSURES.get(code.co_qualname)
    if expected is None or code.co_freevars != expected or function.__dict__ or code not in _compiled(module):
        return None
    found = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))["msgs"].cell_contents
    if type(found) not in (list, tuple) or not all(type(message) is str for message in found):
        return None
    return tuple(found)


@cache
def _compiled(module: types.ModuleType) -> tuple[types.CodeType, ...]:
    """Return the code of the known functions from the module's source, even if they were replaced at run time."""
    try:
        whole = module.__loader__.get_code(_MODULE)  # type: ignore[union-attr]
    except (AttributeError, ImportError, OSError):
        return ()
    named = [code for code in _inside(whole) if code.co_qualname in _CLOSURES]
    return tuple(code for code in named if "stack" not in code.co_freevars or _only_shown(code))


def _inside(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _inside(const)


def _only_shown(code: types.CodeType) -> bool:
    """True if the stack is only used for the error that is shown."""
    steps = [(step.opname, step.argval) for step in dis.get_instructions(code)]
    uses = [at for at, (_, name) in enumerate(steps) if name == "stack"]
    return len(uses) == 1 and steps[uses[0]][0] == "LOAD_DEREF" and steps[uses[0] + 1 : uses[0] + 4] == _SHOWN
