"""Side effects of mutated places: `TOUCH(value)` returns the value, and counts, caches or draws."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Effect:
    """Definitions of `TOUCH` with its state `STATE`. `watch` shows the state; "" if the values show it.

    `numeric`: TOUCH computes with its value, which must be a number or an array.
    """

    name: str
    text: str
    watch: str = ""
    numeric: bool = False
    imports: str = ""


def _function(*body: str, state: str = "") -> str:
    lines = "\n".join(f"    {line}" for line in body)
    return f"{state}\n\n\ndef TOUCH(value):\n{lines}\n".lstrip("\n")


def _count(name: str, state: str, *body: str, watch: str, imports: str = "") -> Effect:
    return Effect(f"count, {name}", _function(*body, "return value", state=state), watch, imports=imports)


def _number(name: str, state: str, *body: str, imports: str = "") -> Effect:
    return Effect(name, _function(*body, state=state), numeric=True, imports=imports)


# fmt: off
COUNTS = (
    _count("list", "STATE = []", "STATE.append(1)", watch="len(STATE)"),
    _count("list, +=", "STATE = []", "STATE.__iadd__([1])", watch="len(STATE)"),
    _count("list, slice", "STATE = [0]", "STATE[:] = [STATE[0] + 1]", watch="STATE[0]"),
    _count("global", "STATE = 0", "global STATE", "STATE += 1", watch="STATE"),
    _count("dict", 'STATE = {"n": 0}', 'STATE["n"] += 1', watch='STATE["n"]'),
    _count("dict, update", 'STATE = {"n": 0}', 'STATE.update(n=STATE["n"] + 1)', watch='STATE["n"]'),
    _count("set", "STATE = set()", "STATE.add(len(STATE))", watch="len(STATE)"),
    _count("function attribute", "", 'TOUCH.n = getattr(TOUCH, "n", 0) + 1', watch='getattr(TOUCH, "n", 0)'),
    _count("class attribute", "class STATE:\n    n = 0", "STATE.n += 1", watch="STATE.n"),
    _count("setattr", "class STATE:\n    n = 0", 'setattr(STATE, "n", STATE.n + 1)', watch="STATE.n"),
    _count("globals()", "STATE = 0", 'globals()["STATE"] = STATE + 1', watch="STATE"),
    _count("default", "", "_push(value)", watch="len(_push.__defaults__[0])"),
    _count("counter", "STATE = Counter()", 'STATE["n"] += 1', watch='STATE["n"]', imports="from collections import Counter"),
    _count("counter, update", "STATE = Counter()", 'STATE.update("n")', watch='STATE["n"]', imports="from collections import Counter"),
    _count("deque", "STATE = deque()", "STATE.appendleft(1)", watch="len(STATE)", imports="from collections import deque"),
    _count("count()", "STATE = count()", "next(STATE)", watch="next(STATE)", imports="from itertools import count"),
    _count("heap", "STATE = []", "heappush(STATE, 1)", watch="len(STATE)", imports="from heapq import heappush"),
    _count("bisect", "STATE = []", "insort(STATE, 1)", watch="len(STATE)", imports="from bisect import insort"),
    _count("numpy, +=", "STATE = np.zeros(2)", "STATE[0] += 1", watch="STATE.tolist()", imports="import numpy as np"),
    _count("numpy, ufunc", "STATE = np.zeros(2)", "np.add(STATE, 1, out=STATE)", watch="STATE.tolist()", imports="import numpy as np"),
    _count("numpy, at", "STATE = np.zeros(2)", "np.add.at(STATE, 0, 1)", watch="STATE.tolist()", imports="import numpy as np"),
    _count("text", "STATE = StringIO()", 'print("layer", file=STATE)', watch="STATE.getvalue()", imports="from io import StringIO"),
    _count("text, write", "STATE = StringIO()", 'STATE.write("layer")', watch="STATE.getvalue()", imports="from io import StringIO"),
    _count("context variable", 'STATE = ContextVar("n", default=0)', "STATE.set(STATE.get() + 1)", watch="STATE.get()", imports="from contextvars import ContextVar"),
    _count("namespace", "STATE = SimpleNamespace(n=0)", "STATE.n += 1", watch="STATE.n", imports="from types import SimpleNamespace"),
    _count("vars", "STATE = SimpleNamespace(n=0)", "vars(STATE).update(n=STATE.n + 1)", watch="STATE.n", imports="from types import SimpleNamespace"),
    _count("map", "STATE = []", "list(map(STATE.append, (1,)))", watch="len(STATE)"),
    _count("try", "STATE = []", "try:", "    raise KeyError", "except KeyError:", "    STATE.append(1)", watch="len(STATE)"),
)
# fmt: on
# fmt: off
DRAWS = (
    _number("draw, random", "STATE = random.Random(0)", "return value * (1 + STATE.random())", imports="import random"),
    _number("draw, module", "", "return value * (1 + random.random())", imports="import random"),
    _number("draw, numpy", "STATE = np.random.default_rng(0)", "return value * STATE.uniform(1, 2)", imports="import numpy as np"),
    _number("draw, numpy module", "", "return value * (1 + np.random.rand())", imports="import numpy as np"),
    _number("draw, next", "STATE = iter([1.0, 0.5, 2.0] * 99)", "return value * next(STATE)"),
    _number("draw, cycle", "STATE = cycle([1.0, 0.5, 2.0])", "return value * next(STATE)", imports="from itertools import cycle"),
    _number("draw, pop", "STATE = [1.0, 0.5, 2.0] * 99", "return value * STATE.pop()"),
    _number("draw, rotate", "STATE = deque([1.0, 0.5, 2.0])", "STATE.rotate()", "return value * STATE[0]", imports="from collections import deque"),
    _number("draw, generator", "def _draws():\n    while True:\n        yield from (1.0, 0.5, 2.0)\n\n\nSTATE = _draws()", "return value * next(STATE)"),
    _number("draw, send", "def _draws():\n    while True:\n        yield from (1.0, 0.5, 2.0)\n\n\nSTATE = _draws()", "return value * STATE.__next__()"),
    _number("draw, key", "STATE = [jax.random.key(3)]", "STATE[0], own = jax.random.split(STATE[0])", "return value * jax.random.uniform(own)", imports="import jax"),
    _number("count and compute", 'STATE = {"n": 0}', 'STATE["n"] += 1', 'return value * (1 + STATE["n"] % 3)'),
    _number("count and decide", "STATE = []", "STATE.append(1)", "return value if len(STATE) % 2 else 0.5 * value"),
)
# fmt: on
# fmt: off
CACHES = (
    Effect("cache, setdefault", _function('return STATE.setdefault("value", value)', state="STATE = {}")),
    Effect("cache, first", _function("if not STATE:", "    STATE.append(value)", "return STATE[0]", state="STATE = []")),
    Effect("cache, last", _function("STATE.append(value)", "return STATE[-2] if len(STATE) > 1 else value", state="STATE = []")),
    Effect("cache, lru", "@functools.lru_cache(maxsize=None)\ndef _factor(shape):\n    STATE.append(shape)\n    return len(STATE)\n\n\nSTATE = []\n\n\ndef TOUCH(value):\n    return value * _factor(getattr(value, \"shape\", ()))\n", numeric=True, imports="import functools"),
    Effect("cache, by identity", _function("STATE[id(value)] = 1", "return value", state="STATE = {}"), "len(STATE)"),
)
# fmt: on
EFFECTS = (*COUNTS, *DRAWS, *CACHES)
HELPERS = {"_push": "def _push(value, kept=[]):\n    kept.append(1)\n    return value\n\n\n"}


def text_of(effect: Effect) -> str:
    """Return the definitions of an effect, with the helpers that it calls."""
    return "".join(text for name, text in HELPERS.items() if name in effect.text) + effect.text
