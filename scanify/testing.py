"""For tests: functions that must be equal."""

from collections.abc import Callable
from typing import Any

from scanify.library import prove_equal
from scanify.verify.equality import Equality
from scanify.verify.verdict import Status

__all__ = ["assert_equal_programs"]


def assert_equal_programs(
    f: Callable[..., Any],
    g: Callable[..., Any],
    /,
    *args: Any,
    up_to: int = 1,
    tested: bool = True,
    **kwargs: Any,
) -> Equality:
    """Raise AssertionError unless two functions are equal according to `scanify.prove_equal`, called with the
    arguments.

    Values that agree without a proof (TESTED) pass, unless `tested` is false. The error shows the verdict, the reason
    and the first operation that differs.
    """
    __tracebackhide__ = True
    found = prove_equal(f, g, *args, up_to=up_to, **kwargs)
    if found or (tested and found.verdict is Status.TESTED):
        return found
    names = " and ".join(getattr(each, "__qualname__", type(each).__qualname__) for each in (f, g))
    where = f"\nat {found.place}" if found.place else ""
    raise AssertionError(f"{names} are not {'equal' if tested else 'proved equal'}: {found}{where}")
