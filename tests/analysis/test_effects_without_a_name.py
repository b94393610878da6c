"""Effects that Python has without a call of the function that has them: iterators, hooks of classes, functions passed."""

import pytest
from helpers import model, only

from scanify.analysis.plan import Refusal

COUNTED = "L = []\n\n\ndef count(x):\n    L.append(1)\n    return x"
# What the file defines, and what the body computes.
EFFECTS = {
    "an iterator in zip": ("IT = iter([1, 2, 3])", "x * [a for a, _ in zip(IT, [0])][0]"),
    "an iterator with a star": ("IT = iter([1, 2, 3])", "x * len([*IT])"),
    "an iterator in sum": ("IT = map(float, [1, 2])", "x * sum(IT)"),
    "a bound method": ("L = [1.0]\nadd = L.append", "(add(1.0), x * len(L))[1]"),
    "a method as a function": ("L = [1.0]", "(list.append(L, 1.0), x * len(L))[1]"),
    "a method that map calls": ("L = [1.0]", "(list(map(L.append, [1.0])), x * len(L))[1]"),
    "a partial": ("import functools\nL = [1.0]", "(functools.partial(L.append, 1.0)(), x * len(L))[1]"),
    "a default": ("f = lambda x, s=[]: (s.append(1), x * len(s))[1]", "f(x)"),
    "a generator": ("def g():\n    yield 1\n\n\nG = g()", "x * G.__next__()"),
    "a constructor": ("class C:\n    def __new__(cls):\n        print(1)\n        return 2.0", "x * C()"),
    "a check": ("class C(eqx.Module):\n    v: int = 1\n\n    def __check_init__(self):\n        print(1)", "x * C().v"),
    "a check after a constructor": (
        (
            "class C(eqx.Module):\n    v: int\n\n    def __init__(self):\n        self.v = 1\n\n"
            "    def __check_init__(self):\n        print(1)"
        ),
        "x * C().v",
    ),
    "a converter": (f"{COUNTED}\n\n\nclass C(eqx.Module):\n    v: float = eqx.field(converter=count)", "x * C(2.0).v"),
    "a drop": ("class C:\n    def __del__(self):\n        print(1)", "(C(), x)[1]"),
    "a length": ("class C:\n    def __len__(self):\n        print(1)\n        return 1\n\n\nc = C()", "x * len(c)"),
    "a comparison in a list": ("class C:\n    def __eq__(self, o):\n        print(1)\n\n\nc = C()", "x * (1 in [c])"),
    "a class that says what it is": (
        "class C:\n    @property\n    def __class__(self):\n        print(1)\n        return int\n\n\nc = C()",
        "x * isinstance(c, int)",
    ),
    "a branch of cond": (COUNTED, "jax.lax.cond(True, count, lambda a: a, x)"),
    "a branch by name": (COUNTED, "jax.lax.cond(True, true_fun=count, false_fun=count, operand=x)"),
    "a leaf test": (COUNTED, "jax.tree.map(lambda a: a, x, is_leaf=count)"),
    "an activation": (f"{COUNTED}\n\n\nmlp = eqx.nn.MLP(8, 8, 8, 1, activation=count, key=jr.key(0))", "mlp(x)"),
    "a function that replaces": (COUNTED, "eqx.tree_at(lambda t: t[0], (x,), replace_fn=count)[0]"),
    "an array that is written": ("OUT = np.zeros(8)", "x * np.multiply(OUT, 2.0, out=OUT)"),
}


@pytest.mark.parametrize("name", EFFECTS)
def test_it_is_held_back(name: str) -> None:
    before, value = EFFECTS[name]
    text = model(f"for layer in self.layers:\n    x = layer(x)\n    x = {value}")
    found = only(text.replace("def helper(x):", f"{before}\n\n\ndef helper(x):"))
    assert isinstance(found, Refusal) or not found.safe, found
