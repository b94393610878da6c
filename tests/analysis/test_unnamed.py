"""What Python calls of an object without naming it, and what else changes something as a layer is applied: no loop over
layers that do is rewritten as safe. https://docs.python.org/3/reference/datamodel.html#special-method-names
"""

import pytest
from helpers import decide

from scanify.analysis.plan import Plan

CODE = """\
import abc, collections, contextlib, copy, functools, itertools, math, operator, os, sys

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np


class Box:
    def __init__(self):
        self.n = 1.0

{methods}

BOX = Box()
N = [1.0]
{around}

class Block(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, d, *, key):
        self.linear = eqx.nn.Linear(d, d, key=key)

    def __call__(self, x):
        {use}
        return x + self.linear(x)


class Net(eqx.Module):
    blocks: list[Block]

    def __init__(self, d, n, *, key):
        self.blocks = [Block(d, key=k) for k in jr.split(key, n)]

    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return x
"""
COUNT = "object.__setattr__(self, 'n', self.n + 1)"


def is_safe(methods: str, around: str, use: str) -> bool:
    methods = "\n".join(f"    {line}" if line else "" for line in methods.split("\n"))
    code = CODE.format(methods=methods, around=around, use=use.replace("\n", "\n        "))
    (found,) = decide(code)
    return isinstance(found, Plan) and not found.obligations


# By name: methods of `Box`, what stands beside it, and what a layer does.
UNNAMED = {
    "with": (
        "def __enter__(self):\n    COUNT\n    return self.n\ndef __exit__(self, *a):\n    return None",
        "with BOX as s:\n    x = x * s",
    ),
    "with exit": (
        "def __exit__(self, *a):\n    COUNT\n    return None\ndef __enter__(self):\n    return self",
        "with BOX:\n    x = x * BOX.n",
    ),
    "with in call return": (
        "def __enter__(self):\n    COUNT\n    return self.n\ndef __exit__(self, *a):\n    return None",
        "with BOX as s:\n    return x * s + self.lin(x)",
    ),
    "exitstack enter": (
        "def __enter__(self):\n    COUNT\n    return self.n\ndef __exit__(self, *a):\n    return None",
        "with contextlib.ExitStack() as st:\n    s = st.enter_context(BOX)\n    x = x * s",
    ),
    "delattr": ("def __delattr__(self, name):\n    COUNT\n    return None", "del BOX.foo\nx = x * BOX.n"),
    "delitem": ("def __delitem__(self, i):\n    COUNT\n    return None", "del BOX[0]\nx = x * BOX.n"),
    "getitem": ("def __getitem__(self, i):\n    COUNT\n    return self.n", "x = x * BOX[0]"),
    "setitem": ("def __setitem__(self, i, v):\n    COUNT\n    return None", "BOX[0] = 3\nx = x * BOX.n"),
    "setattr": ("def __setattr__(self, i, v):\n    COUNT\n    return None", "BOX.foo = 3\nx = x * BOX.n"),
    "getattr": ("def __getattr__(self, i):\n    COUNT\n    return self.n", "x = x * BOX.foo"),
    "iter": ("def __iter__(self):\n    COUNT\n    return iter([self.n])", "for s in BOX:\n    x = x * s"),
    "iter star": ("def __iter__(self):\n    COUNT\n    return iter([self.n])", "x = x * sum([*BOX])"),
    "iter unpack": ("def __iter__(self):\n    COUNT\n    return iter([self.n])", "s, = BOX\nx = x * s"),
    "iter call star": ("def __iter__(self):\n    COUNT\n    return iter([self.n])", "x = x * max(0.0, *BOX)"),
    "iter sum": ("def __iter__(self):\n    COUNT\n    return iter([self.n])", "x = x * sum(BOX)"),
    "iter list": ("def __iter__(self):\n    COUNT\n    return iter([self.n])", "x = x * list(BOX)[0]"),
    "iter comp": ("def __iter__(self):\n    COUNT\n    return iter([self.n])", "x = x * [s for s in BOX][0]"),
    "iter zip": (
        "def __iter__(self):\n    COUNT\n    return iter([self.n])",
        "x = x * [s for s, _ in zip(BOX, [1])][0]",
    ),
    "iter yield from": (
        "def __iter__(self):\n    COUNT\n    return iter([self.n])",
        "def g():\n    yield from BOX\nx = x * list(g())[0]",
    ),
    "next": ("def __next__(self):\n    COUNT\n    return self.n", "x = x * next(BOX)"),
    "next for": (
        "def __next__(self):\n    COUNT\n    return self.n\ndef __iter__(self):\n    return self",
        "for s in BOX:\n    x = x * s\n    break",
    ),
    "keys star": (
        "def keys(self):\n    COUNT\n    return ['a']\ndef __getitem__(self, k):\n    return self.n",
        "x = x * dict(**BOX)['a']",
    ),
    "len": ("def __len__(self):\n    COUNT\n    return int(self.n)", "x = x * len(BOX)"),
    "len if": ("def __len__(self):\n    COUNT\n    return int(self.n)", "if BOX:\n    x = x * BOX.n"),
    "bool": ("def __bool__(self):\n    COUNT\n    return self.n % 2 == 0", "if BOX:\n    x = x * 2"),
    "bool not": ("def __bool__(self):\n    COUNT\n    return self.n % 2 == 0", "if not BOX:\n    x = x * 2"),
    "bool or": ("def __bool__(self):\n    COUNT\n    return self.n % 2 == 0", "x = x * (1 if (BOX or False) else 2)"),
    "bool ifexp": ("def __bool__(self):\n    COUNT\n    return self.n % 2 == 0", "x = x * (2 if BOX else 1)"),
    "bool while": ("def __bool__(self):\n    COUNT\n    return self.n % 2 == 0", "while BOX:\n    x = x * 2"),
    "bool assert": ("def __bool__(self):\n    COUNT\n    return True", "assert BOX\nx = x * BOX.n"),
    "bool comp": (
        "def __bool__(self):\n    COUNT\n    return self.n % 2 == 0",
        "x = x * sum([2 for _ in range(2) if BOX])",
    ),
    "bool all": ("def __bool__(self):\n    COUNT\n    return self.n % 2 == 0", "x = x * (2 if all([BOX]) else 1)"),
    "bool filter": (
        "def __bool__(self):\n    COUNT\n    return self.n % 2 == 0",
        "x = x * (1 + len(list(filter(None, [BOX]))))",
    ),
    "bool match guard": (
        "def __bool__(self):\n    COUNT\n    return self.n % 2 == 0",
        "match 1:\n    case 1 if BOX:\n        x = x * 2\n    case _:\n        x = x * 3",
    ),
    "contains": ("def __contains__(self, o):\n    COUNT\n    return self.n % 2 == 0", "x = x * (2 if 3 in BOX else 1)"),
    "eq": ("def __eq__(self, o):\n    COUNT\n    return self.n % 2 == 0", "x = x * (2 if BOX == 3 else 1)"),
    "eq in list": ("def __eq__(self, o):\n    COUNT\n    return self.n % 2 == 0", "x = x * (2 if 3 in [BOX] else 1)"),
    "ne": ("def __ne__(self, o):\n    COUNT\n    return self.n % 2 == 0", "x = x * (2 if BOX != 3 else 1)"),
    "lt": ("def __lt__(self, o):\n    COUNT\n    return self.n % 2 == 0", "x = x * (2 if BOX < 3 else 1)"),
    "gt reflected": ("def __gt__(self, o):\n    COUNT\n    return self.n % 2 == 0", "x = x * (2 if 3 < BOX else 1)"),
    "lt chain": ("def __gt__(self, o):\n    COUNT\n    return self.n % 2 == 0", "x = x * (2 if 0 < 1 < BOX else 1)"),
    "max": ("def __gt__(self, o):\n    COUNT\n    return True", "x = x * max(BOX, BOX).n"),
    "sorted": ("def __lt__(self, o):\n    COUNT\n    return True", "x = x * sorted([BOX, BOX])[0].n"),
    "hash dict": ("def __hash__(self):\n    COUNT\n    return 1", "d = {BOX: 1}\nx = x * BOX.n"),
    "hash get": ("def __hash__(self):\n    COUNT\n    return 1", "d = {}.get(BOX)\nx = x * BOX.n"),
    "add": ("def __add__(self, o):\n    COUNT\n    return self.n", "x = x * (BOX + 1)"),
    "radd": ("def __radd__(self, o):\n    COUNT\n    return self.n", "x = x * (1 + BOX)"),
    "array radd": ("def __radd__(self, o):\n    COUNT\n    return o * self.n", "x = x + BOX"),
    "iadd": ("def __iadd__(self, o):\n    COUNT\n    return self", "b = BOX\nb += 1\nx = x * BOX.n"),
    "neg": ("def __neg__(self):\n    COUNT\n    return self.n", "x = x * -BOX"),
    "abs": ("def __abs__(self):\n    COUNT\n    return self.n", "x = x * abs(BOX)"),
    "round": ("def __round__(self):\n    COUNT\n    return self.n", "x = x * round(BOX)"),
    "floor": ("def __floor__(self):\n    COUNT\n    return int(self.n)", "x = x * math.floor(BOX)"),
    "ceil": ("def __ceil__(self):\n    COUNT\n    return int(self.n)", "x = x * math.ceil(BOX)"),
    "trunc": ("def __trunc__(self):\n    COUNT\n    return int(self.n)", "x = x * math.trunc(BOX)"),
    "float": ("def __float__(self):\n    COUNT\n    return self.n", "x = x * float(BOX)"),
    "float math": ("def __float__(self):\n    COUNT\n    return self.n", "x = x * math.sqrt(BOX)"),
    "int": ("def __int__(self):\n    COUNT\n    return int(self.n)", "x = x * int(BOX)"),
    "index": (
        "def __index__(self):\n    COUNT\n    return int(self.n)",
        "x = x * (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7., 8., 9., 10.)[BOX]",
    ),
    "index range": ("def __index__(self):\n    COUNT\n    return int(self.n)", "for _ in range(BOX):\n    x = x * 2"),
    "index slice": (
        "def __index__(self):\n    COUNT\n    return int(self.n)",
        "x = x * sum((1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7., 8., 9., 10.)[:BOX])",
    ),
    "index mult": ("def __index__(self):\n    COUNT\n    return int(self.n)", "x = x * len([1] * BOX)"),
    "complex": ("def __complex__(self):\n    COUNT\n    return complex(self.n)", "x = x * complex(BOX).real"),
    "str": ("def __str__(self):\n    COUNT\n    return str(self.n)", "x = x * float(str(BOX))"),
    "format": ("def __format__(self, s):\n    COUNT\n    return str(self.n)", "x = x * float(f'{BOX}')"),
    "format method": ("def __format__(self, s):\n    COUNT\n    return str(self.n)", "x = x * float('{}'.format(BOX))"),
    "percent": ("def __str__(self):\n    COUNT\n    return str(self.n)", "x = x * float('%s' % BOX)"),
    "percent tuple": ("def __str__(self):\n    COUNT\n    return str(self.n)", "x = x * float('%s' % (BOX,))"),
    "repr": ("def __repr__(self):\n    COUNT\n    return str(self.n)", "x = x * float(repr(BOX))"),
    "repr !r": ("def __repr__(self):\n    COUNT\n    return str(self.n)", "x = x * float(f'{BOX!r}')"),
    "bytes": ("def __bytes__(self):\n    COUNT\n    return b'a' * int(self.n)", "x = x * len(bytes(BOX))"),
    "fspath": ("def __fspath__(self):\n    COUNT\n    return 'a' * int(self.n)", "x = x * len(os.fspath(BOX))"),
    "copy": ("def __copy__(self):\n    COUNT\n    return self.n", "x = x * copy.copy(BOX)"),
    "deepcopy": ("def __deepcopy__(self, memo):\n    COUNT\n    return self.n", "x = x * copy.deepcopy(BOX)"),
    "reversed": ("def __reversed__(self):\n    COUNT\n    return iter([self.n])", "x = x * list(reversed(BOX))[0]"),
    "call": ("def __call__(self):\n    COUNT\n    return self.n", "x = x * BOX()"),
    "call map": ("def __call__(self, o):\n    COUNT\n    return self.n", "x = x * list(map(BOX, [1]))[0]"),
    "call sorted key": (
        "def __call__(self, o):\n    COUNT\n    return self.n",
        "sorted([1, 2], key=BOX)\nx = x * BOX.n",
    ),
    "call reduce": ("def __call__(self, o, p):\n    COUNT\n    return self.n", "x = x * functools.reduce(BOX, [1, 2])"),
    "call partial": ("def __call__(self):\n    COUNT\n    return self.n", "x = x * functools.partial(BOX)()"),
    "call tree_map": ("def __call__(self, o):\n    COUNT\n    return o * self.n", "x = jax.tree.map(BOX, x)"),
    "call vmap": ("def __call__(self, o):\n    COUNT\n    return o * self.n", "x = jax.vmap(BOX)(x)"),
    "jax_array": ("def __jax_array__(self):\n    COUNT\n    return jnp.asarray(self.n)", "x = x * jnp.asarray(BOX)"),
    "jax_array add": ("def __jax_array__(self):\n    COUNT\n    return jnp.asarray(self.n)", "x = jnp.add(x, BOX)"),
    "array": ("def __array__(self, *a, **k):\n    COUNT\n    return np.asarray(self.n)", "x = x * np.asarray(BOX)"),
    "property": ("@property\ndef now(self):\n    COUNT\n    return self.n", "x = x * BOX.now"),
    "cached property": ("@functools.cached_property\ndef now(self):\n    COUNT\n    return self.n", "x = x * BOX.now"),
    "getattribute": (
        "m = 0\ndef __getattribute__(self, name):\n    Box.m += 1\n    return float(Box.m)",
        "x = x * BOX.foo",
    ),
    "partialmethod": (
        "def go(self, f):\n    COUNT\n    return self.n\nhalf = functools.partialmethod(go, 0.5)",
        "x = x * BOX.half()",
    ),
    "methodcaller": ("def go(self):\n    COUNT\n    return self.n", "x = x * operator.methodcaller('go')(BOX)"),
    "getattr call": ("def go(self):\n    COUNT\n    return self.n", "x = x * getattr(BOX, 'go')()"),
    "attrgetter": ("def go(self):\n    COUNT\n    return self.n", "x = x * operator.attrgetter('go')(BOX)()"),
}
OTHERS = {
    "eq match": (
        "def __eq__(self, o):\n    COUNT\n    return self.n % 2 == 0",
        "class EXTRA:\n    BOX = BOX",
        "match 3:\n    case EXTRA.BOX:\n        x = x * 2\n    case _:\n        x = x * 3",
    ),
    "descriptor": (
        "def __get__(self, o, t=None):\n    COUNT\n    return self.n",
        "class Owner:\n    v = BOX",
        "x = x * Owner.v",
    ),
    "descriptor set": (
        "def __set__(self, o, v):\n    COUNT\n    return None",
        "class Owner:\n    v = BOX",
        "Owner().v = 3\nx = x * BOX.n",
    ),
    "missing": (
        "",
        "class D_(dict):\n    def __missing__(self, k):\n        self[k] = float(len(self) + 1)\n        return self[k]\nD = D_()",
        "x = x * D['a' * len(D)]",
    ),
    "dict subclass setitem": (
        "",
        "class D_(dict):\n    n = 0\n    def __setitem__(self, k, v):\n        self.n += 1\nD = D_()",
        "D['a'] = 1.0\nx = x * D.n",
    ),
    "list subclass append": (
        "",
        "class D_(list):\n    n = 0\n    def append(self, v):\n        self.n += 1\nD = D_()",
        "D.append(1.0)\nx = x * D.n",
    ),
    "instancecheck": (
        "",
        "class M(type):\n    n = 0\n    def __instancecheck__(cls, o):\n        M.n += 1\n        return M.n % 2 == 0\nclass K(metaclass=M):\n    pass",
        "x = x * (2 if isinstance(1, K) else 1)",
    ),
    "init_subclass": (
        "",
        "class Base:\n    n = 0\n    def __init_subclass__(cls):\n        Base.n += 1",
        "class S(Base):\n    pass\nx = x * Base.n",
    ),
    "class_getitem": (
        "",
        "class K:\n    n = 0\n    def __class_getitem__(cls, i):\n        K.n += 1\n        return cls",
        "K[int]\nx = x * K.n",
    ),
    "new": (
        "",
        "class K:\n    n = 0\n    def __new__(cls):\n        K.n += 1\n        return object.__new__(cls)",
        "K()\nx = x * K.n",
    ),
    "init": ("", "class K:\n    n = 0\n    def __init__(self):\n        K.n += 1", "K()\nx = x * K.n"),
    "post_init": (
        "",
        "import dataclasses\n@dataclasses.dataclass\nclass K:\n    def __post_init__(self):\n        BOX.n += 1\n        K.n = BOX.n",
        "K()\nx = x * K.n",
    ),
    "default factory": (
        "",
        "import dataclasses, itertools\nids = itertools.count(1)\n@dataclasses.dataclass\nclass K:\n    v: int = dataclasses.field(default_factory=lambda: next(ids))",
        "x = x * K().v",
    ),
    "metaclass call": (
        "",
        "class M(type):\n    n = 0\n    def __call__(cls):\n        cls.n += 1\n        return super().__call__()\nclass K(metaclass=M):\n    pass",
        "K()\nx = x * K.n",
    ),
    "del method": ("", "class K:\n    n = 0\n    def __del__(self):\n        K.n += 1", "K()\nx = x * K.n"),
    "decorator class": (
        "",
        "class counted:\n    def __init__(self, f):\n        self.f, self.n = f, 0\n    def __call__(self):\n        self.n += 1\n        return self.f() * self.n\n@counted\ndef step():\n    return 1.0",
        "x = x * step()",
    ),
    "decorator closure": (
        "",
        "def counted(f):\n    n = 0\n    @functools.wraps(f)\n    def inner():\n        nonlocal n\n        n += 1\n        return f() * n\n    return inner\n@counted\ndef step():\n    return 1.0",
        "x = x * step()",
    ),
    "contextmanager": (
        "",
        "@contextlib.contextmanager\ndef scope():\n    N.append(1.0)\n    yield float(len(N))",
        "with scope() as s:\n    x = x * s",
    ),
    "contextmanager finally": (
        "",
        "@contextlib.contextmanager\ndef scope():\n    try:\n        yield\n    finally:\n        N.append(1.0)",
        "with scope():\n    x = x * len(N)",
    ),
    "contextmanager decorator": (
        "",
        "@contextlib.contextmanager\ndef scope():\n    N.append(1.0)\n    yield\n@scope()\ndef step():\n    return len(N)",
        "x = x * step()",
    ),
    "singledispatch": (
        "",
        "@functools.singledispatch\ndef step(o):\n    N.append(1.0)\n    return len(N)",
        "x = x * step(3)",
    ),
    "singledispatch registered": (
        "",
        "@functools.singledispatch\ndef step(o):\n    return 1\n@step.register\ndef _(o: int):\n    N.append(1.0)\n    return len(N)",
        "x = x * step(3)",
    ),
    "super call": (
        "def go(self):\n    COUNT\n    return self.n",
        "class Sub(Box):\n    def go(self):\n        return super().go()\nSUB = Sub()",
        "x = x * SUB.go()",
    ),
    "mixin mro": (
        "def go(self):\n    COUNT\n    return self.n",
        "class Mix:\n    def run(self):\n        return self.go()\nclass Sub(Mix, Box):\n    pass\nSUB = Sub()",
        "x = x * SUB.run()",
    ),
    "abstract": (
        "def go(self):\n    COUNT\n    return self.n",
        "def call(o: 'Box'):\n    return o.go()",
        "x = x * call(BOX)",
    ),
    "lambda default": ("", "f = lambda box=[]: (box.append(1), float(len(box)))[1]", "x = x * f()"),
    "walrus global": ("", "N = 1.0\ndef step():\n    global N\n    return (N := N + 1)", "x = x * step()"),
    "setattr fn": ("", "def step():\n    setattr(BOX, 'n', BOX.n + 1)\n    return BOX.n", "x = x * step()"),
    "vars": ("", "def step():\n    vars(BOX)['n'] += 1\n    return BOX.n", "x = x * step()"),
    "__dict__": ("", "def step():\n    BOX.__dict__['n'] += 1\n    return BOX.n", "x = x * step()"),
    "globals": ("", "G = 1.0\ndef step():\n    globals()['G'] += 1\n    return G", "x = x * step()"),
    "function attr": ("", "def step():\n    step.n += 1\n    return step.n\nstep.n = 1.0", "x = x * step()"),
    "list method held": ("", "N = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, .7, .8]\ntake = N.pop", "x = x * take()"),
    "itertools count": ("", "ids = itertools.count(1)", "x = x * next(ids)"),
    "itertools cycle": ("", "ids = itertools.cycle([1., 2.])", "x = x * next(ids)"),
    "generator": (
        "",
        "def g():\n    n = 1.0\n    while True:\n        yield n\n        n += 1\nids = g()",
        "x = x * next(ids)",
    ),
    "generator send": (
        "",
        "def g():\n    n = 1.0\n    while True:\n        n = n * (yield n)\nids = g()\nnext(ids)",
        "x = x * ids.send(2.0)",
    ),
    "contextvar": (
        "",
        "import contextvars\nV = contextvars.ContextVar('V', default=1.0)",
        "V.set(V.get() + 1)\nx = x * V.get()",
    ),
    "threading local": ("", "import threading\nL = threading.local()\nL.n = 1.0", "L.n = L.n + 1\nx = x * L.n"),
    "os.environ": ("", "", "os.environ['N'] = str(float(os.environ.get('N', 1)) + 1)\nx = x * float(os.environ['N'])"),
    "weakref": ("", "import weakref\nref = weakref.ref(BOX)", "ref().n += 1\nx = x * BOX.n"),
    "exec": ("", "G = 1.0", "exec('G += 1', globals())\nx = x * G"),
    "np inplace": ("", "A = np.ones(1)", "A[0] += 1\nx = x * float(A[0])"),
    "np positional out": ("", "A = np.ones(1)", "np.exp(A, A)\nx = x * float(A[0])"),
    "np clip out": ("", "A = np.ones(1)", "np.clip(A, 2, 3, A)\nx = x * float(A[0])"),
    "iterator summed": ("", "IT = iter([1.0, 2.0, 3.0])", "x = x * sum(IT)"),
    "iterator copied": ("", "IT = map(float, [1, 2])", "x = x * (1 + len(list(IT)))"),
    "iterator unpacked": ("", "IT = reversed([1.0, 2.0])", "a, *b = (*IT, 1.0)\nx = x * a"),
    "iterator searched": ("", "IT = zip([1.0, 2.0])", "x = x * max(IT, default=(5.0,))[0]"),
    "iterator in a table": ("", "IT = {'a': iter([1.0, 2.0])}", "x = x * sum(IT['a'])"),
    "mutable default": (
        "",
        "def f(v, seen=[]):\n    seen.append(1)\n    return v * len(seen)",
        "x = f(x)",
    ),
    "np out": ("", "A = np.ones(1)", "np.add(A, 1, out=A)\nx = x * float(A[0])"),
    "np view": ("", "A = np.ones(2)\nB = A[:1]", "B[0] += 1\nx = x * float(A[0])"),
    "np fill": ("", "A = np.ones(1)", "A.fill(A[0] + 1)\nx = x * float(A[0])"),
    "deque rotate": ("", "Q = collections.deque([1.0, 0.9, 0.8, 0.7])", "Q.rotate(1)\nx = x * Q[0]"),
    "Counter": ("", "C = collections.Counter()", "C.update('n')\nx = x * C['n']"),
    "Counter iadd": ("", "C = collections.Counter()", "C['n'] += 1\nx = x * C['n']"),
    "defaultdict": ("", "C = collections.defaultdict(itertools.count(1).__next__)", "x = x * C[object()]"),
    "defaultdict list": ("", "C = collections.defaultdict(list)", "C['a'].append(1)\nx = x * len(C['a'])"),
    "heappush": ("", "import heapq\nH = []", "heapq.heappush(H, 1)\nx = x * len(H)"),
    "set add": ("", "S = set()", "S.add(len(S))\nx = x * len(S)"),
    "setdefault": ("", "C = {}", "x = x * C.setdefault(len(C), float(len(C) + 1))"),
    "bytearray": ("", "B = bytearray()", "B.append(1)\nx = x * len(B)"),
    "queue": (
        "",
        "import queue\nQ = queue.SimpleQueue()\nfor i in range(1, 20):\n    Q.put(float(i))",
        "x = x * Q.get()",
    ),
    "StringIO": ("", "import io\nF = io.StringIO()", "F.write('a')\nx = x * len(F.getvalue())"),
    "lru_cache": (
        "",
        "@functools.lru_cache\ndef step(o):\n    N.append(1.0)\n    return len(N)",
        "x = x * step(object())",
    ),
    "namedtuple replace": (
        "",
        "P = collections.namedtuple('P', 'n')(1.0)",
        "global P\nP = P._replace(n=P.n + 1)\nx = x * P.n",
    ),
    "star target": ("", "Q = [1., 2., 3., 4., 5., 6., 7., 8., 9.]", "global Q\ns, *Q = Q\nx = x * s"),
    "slice assign": ("", "Q = [1., 2., 3., 4., 5., 6., 7., 8., 9.]", "Q[:] = Q[1:]\nx = x * Q[0]"),
    "del item": ("", "Q = [1., 2., 3., 4., 5., 6., 7., 8., 9.]", "del Q[0]\nx = x * Q[0]"),
    "iadd list": ("", "Q = [1.]", "Q.__iadd__([1])\nx = x * len(Q)"),
    "global list iadd": ("", "Q = [1.]", "global Q\nQ += [1]\nx = x * len(Q)"),
    "for target attr": ("", "", "for BOX.n in [BOX.n + 1]:\n    pass\nx = x * BOX.n"),
    "with target attr": ("", "", "with contextlib.nullcontext(BOX.n + 1) as BOX.n:\n    x = x * BOX.n"),
    "except as": ("", "", "try:\n    raise ValueError\nexcept ValueError:\n    BOX.n += 1\nx = x * BOX.n"),
    "finally": ("", "", "try:\n    x = x * BOX.n\nfinally:\n    BOX.n += 1"),
    "class attr": ("", "Box.m = 1.0", "Box.m = Box.m + 1\nx = x * Box.m"),
    "type(self)": ("", "Box.m = 1.0", "type(BOX).m += 1\nx = x * Box.m"),
    "__class__": ("", "Box.m = 1.0", "BOX.__class__.m += 1\nx = x * Box.m"),
    "module attr": ("", "G = 1.0", "sys.modules[__name__].G += 1\nx = x * G"),
    "nested fn state": (
        "",
        "def maker():\n    d = {'n': 0.0}\n    def count():\n        d['n'] += 1\n        return d['n']\n    return count\ncount = maker()",
        "x = x * count()",
    ),
    "object.__setattr__ self-like": ("", "", "object.__setattr__(BOX, 'n', BOX.n + 1)\nx = x * BOX.n"),
    "property setter": (
        "",
        "class P_:\n    n = 0\n    @property\n    def v(self):\n        return 1\n    @v.setter\n    def v(self, value):\n        self.n += 1\nP = P_()",
        "P.v = 3\nx = x * P.n",
    ),
    "property deleter": (
        "",
        "class P_:\n    n = 0\n    @property\n    def v(self):\n        return 1\n    @v.deleter\n    def v(self):\n        self.n += 1\nP = P_()",
        "del P.v\nx = x * P.n",
    ),
    "userdict": (
        "",
        "class P_(collections.UserDict):\n    n = 0\n    def __setitem__(self, k, value):\n        self.n += 1\nP = P_()",
        "P['a'] = 3\nx = x * P.n",
    ),
    "dict subclass update": (
        "",
        "class D_(dict):\n    n = 0\n    def update(self, *a, **k):\n        self.n += 1\nD = D_()",
        "D.update(a=1.0)\nx = x * D.n",
    ),
    "str subclass": (
        "",
        "class D_(str):\n    n = 0\n    def upper(self):\n        self.n += 1\n        return 'A'\nD = D_('a')",
        "D.upper()\nx = x * D.n",
    ),
    "float subclass": (
        "",
        "class D_(float):\n    n = 0\n    def __add__(self, o):\n        self.n += 1\n        return self.n\nD = D_(1.0)",
        "x = x * (D + 1)",
    ),
    "namedtuple subclass": (
        "",
        "class D_(collections.namedtuple('P', 'a')):\n    def go(self):\n        N.append(1.0)\n        return len(N)\nD = D_(1.0)",
        "x = x * D.go()",
    ),
    "list subclass getitem": (
        "",
        "class D_(list):\n    n = 0\n    def __getitem__(self, i):\n        self.n += 1\n        return self.n\nD = D_([1.0])",
        "x = x * D[0]",
    ),
    "list subclass iter": (
        "",
        "class D_(list):\n    n = 0\n    def __iter__(self):\n        self.n += 1\n        return iter([self.n])\nD = D_([1.0])",
        "for s in D:\n    x = x * s",
    ),
    "list subclass len": (
        "",
        "class D_(list):\n    n = 0\n    def __len__(self):\n        self.n += 1\n        return self.n\nD = D_([1.0])",
        "x = x * len(D)",
    ),
    "dict subclass get": (
        "",
        "class D_(dict):\n    n = 0\n    def get(self, i):\n        self.n += 1\n        return self.n\nD = D_()",
        "x = x * D.get('a')",
    ),
    "sort key": ("", "", "[2, 1].sort(key=lambda v: N.append(v) or v)\nx = x * len(N)"),
    "filter fn": ("", "", "list(filter(lambda v: N.append(v) or v, [1, 2]))\nx = x * len(N)"),
    "iter sentinel": ("", "", "list(iter(lambda: N.append(1) or 3, 3))\nx = x * len(N)"),
    "max key": ("", "", "max([1, 2], key=lambda v: N.append(v) or v)\nx = x * len(N)"),
    "takewhile": ("", "", "list(itertools.takewhile(lambda v: N.append(v) or True, [1, 2]))\nx = x * len(N)"),
    "groupby": (
        "",
        "",
        "[list(g) for _, g in itertools.groupby([1, 2], key=lambda v: N.append(v) or v)]\nx = x * len(N)",
    ),
    "starmap": ("", "", "list(itertools.starmap(lambda a, b: N.append(a), [(1, 2)]))\nx = x * len(N)"),
    "accumulate": ("", "", "list(itertools.accumulate([1, 2], lambda a, b: N.append(a) or 1))\nx = x * len(N)"),
    "np vectorize": ("", "", "np.vectorize(lambda a: N.append(1) or 1)(np.ones(1))\nx = x * len(N)"),
    "np apply": ("", "", "np.apply_along_axis(lambda a: N.append(1) or 1, 0, np.ones(1))\nx = x * len(N)"),
    "re sub": ("", "import re", "re.sub('a', lambda m: N.append(1) or 'b', 'a')\nx = x * len(N)"),
    "defaultdict lambda": ("", "C = collections.defaultdict(lambda: float(len(C) + 1))", "x = x * C[len(C)]"),
    "functools.cached call": (
        "",
        "class K:\n    @functools.cached_property\n    def v(self):\n        N.append(1.0)\n        return len(N)\ndef f():\n    return K().v",
        "x = x * f()",
    ),
    "setdefault fn": ("", "C = {}", "C.setdefault('n', []).append(1)\nx = x * len(C['n'])"),
    "json default": ("", "import json", "json.dumps(object(), default=lambda o: N.append(1) or 1)\nx = x * len(N)"),
    "callbacks list": ("", "def f():\n    N.append(1)\n    return len(N)\nFS = [f]", "for f in FS:\n    x = x * f()"),
    "callbacks dict": ("", "def f():\n    N.append(1)\n    return len(N)\nFS = {'f': f}", "x = x * FS['f']()"),
    "any gen": ("", "", "any(N.append(1) for _ in range(2))\nx = x * len(N)"),
    "dictcomp": ("", "", "{i: N.append(1) for i in range(2)}\nx = x * len(N)"),
    "assert msg": ("", "", "assert True, N.append(1)\nx = x * (len(N) + (N.append(1) or 0))"),
    "default arg": ("", "", "def f(a=N.append(1)):\n    return a\nx = x * len(N)"),
    "annotation arg": ("", "", "def f(a: N.append(1)):\n    return a\nx = x * len(N)"),
    "decorator expr": ("", "", "@(N.append(1) or (lambda f: f))\ndef f(a):\n    return a\nx = x * len(N)"),
    "class body": ("", "", "class K:\n    N.append(1)\nx = x * len(N)"),
    "class base expr": ("", "", "class K(N.append(1) or object):\n    pass\nx = x * len(N)"),
    "class keyword": ("", "", "class K(metaclass=N.append(1) or type):\n    pass\nx = x * len(N)"),
    "lambda default expr": ("", "", "f = lambda a=N.append(1): a\nx = x * len(N)"),
    "import in fn": (
        "",
        "import types, sys\nthing_ = types.ModuleType('thing')\nthing_.count = lambda: N.append(1) or len(N)\nsys.modules['thing'] = thing_",
        "import thing\nx = x * thing.count()",
    ),
    "raise caught": (
        "",
        "class E(Exception):\n    def __init__(self):\n        N.append(1)",
        "try:\n    raise E()\nexcept E:\n    pass\nx = x * len(N)",
    ),
    "except type expr": (
        "",
        "",
        "try:\n    raise ValueError\nexcept (N.append(1) or ValueError):\n    pass\nx = x * len(N)",
    ),
    "slice step expr": ("", "", "[1][:: (N.append(1) or 1)]\nx = x * len(N)"),
    "subscript store idx": ("", "", "a = [0]\na[N.append(1) or 0] = 1\nx = x * len(N)"),
    "attr store owner": ("", "", "(N.append(1) or BOX).m = 3\nx = x * len(N)"),
    "aug owner": ("", "", "(N.append(1) or [0])[0] += 1\nx = x * len(N)"),
    "del owner": ("", "", "del (N.append(1) or [0])[0]\nx = x * len(N)"),
    "del idx": ("", "", "a = [0]\ndel a[N.append(1) or 0]\nx = x * len(N)"),
    "fstring spec": ("", "", "f'{3:{(N.append(1) or 4)}}'\nx = x * len(N)"),
    "compare chain": ("", "", "0 < (N.append(1) or 1) < 2\nx = x * len(N)"),
    "starred assign": ("", "", "a, *b = (N.append(1), 2)\nx = x * len(N)"),
    "global stmt expr": ("", "", "[N.append(1)]\nx = x * len(N)"),
    "await": ("", "", "import asyncio\nasync def f():\n    N.append(1)\nasyncio.run(f())\nx = x * len(N)"),
    "thread": (
        "",
        "import threading",
        "t = threading.Thread(target=lambda: N.append(1))\nt.start(); t.join()\nx = x * len(N)",
    ),
    "atexit-like register": ("", "HOOKS = []", "HOOKS.append(1)\nx = x * len(HOOKS)"),
    "type call 3": (
        "",
        "class Base:\n    n = 0\n    def __init_subclass__(cls):\n        Base.n += 1",
        "type('K', (Base,), {})\nx = x * Base.n",
    ),
    "set_name": (
        "",
        "class D_:\n    n = 0\n    def __set_name__(self, o, name):\n        D_.n += 1",
        "class K:\n    d = D_()\nx = x * D_.n",
    ),
    "slots member": ("", "class S_:\n    __slots__ = ('n',)\nS = S_()\nS.n = 0", "S.n += 1\nx = x * S.n"),
    "enum member attr": (
        "",
        "import enum\nclass E(enum.Enum):\n    A = 1",
        "E.A.n = getattr(E.A, 'n', 0) + 1\nx = x * E.A.n",
    ),
    "enum missing": (
        "",
        "import enum\nclass E(enum.Enum):\n    A = 1\n    @classmethod\n    def _missing_(cls, v):\n        N.append(1)\n        return cls.A",
        "E(7)\nx = x * len(N)",
    ),
    "dataclass eq": (
        "",
        "import dataclasses\n@dataclasses.dataclass\nclass K:\n    a: int\n    def __eq__(self, o):\n        N.append(1)\n        return True",
        "K(1) == K(1)\nx = x * len(N)",
    ),
    "total_ordering": (
        "",
        "@functools.total_ordering\nclass K:\n    def __eq__(self, o):\n        return True\n    def __lt__(self, o):\n        N.append(1)\n        return True",
        "K() > K()\nx = x * len(N)",
    ),
    "generator close": (
        "",
        "def gen():\n    try:\n        yield 1\n    finally:\n        N.append(1)",
        "g = gen()\nnext(g)\ng.close()\nx = x * len(N)",
    ),
}
QUIET = ["call", "property"]


@pytest.mark.parametrize("name", UNNAMED)
def test_an_object_that_changes_as_it_is_asked(name: str) -> None:
    methods, use = UNNAMED[name]
    assert not is_safe(methods.replace("COUNT", COUNT), "", use)


@pytest.mark.parametrize("name", QUIET)
def test_one_that_only_answers(name: str) -> None:
    methods, use = UNNAMED[name]
    assert is_safe(methods.replace("COUNT", "pass"), "", use)


@pytest.mark.parametrize("name", OTHERS)
def test_what_else_changes_something(name: str) -> None:
    methods, around, use = OTHERS[name]
    assert not is_safe(methods.replace("COUNT", COUNT), around, use)


def test_what_only_computes() -> None:
    assert is_safe("", "def f(v, by=2.0):\n    return v * by", "x = f(x) * max([1, 2]) * np.clip(3, 1, 2)")
