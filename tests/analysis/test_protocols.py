"""What Python calls of an object without naming it may change the object: a scan would call it once for all layers."""

import pytest
from helpers import model, only

from scanify.analysis.plan import Plan, Refusal

HELPER = """\
class Counter:
    def __init__(self):
        self.n = 0

    def step(self):
        self.n = STEP
        return self.n

    def METHOD:
        return RESULT


"""
# The method, what it gives, and what calls it without its name.
CALLED = {
    "a condition": ("__bool__(self)", "self.step() == 1", "x = layer(x) if c else layer(2 * x)"),
    "if": ("__bool__(self)", "self.step() == 1", "if c:\n        x = 2 * x\n    x = layer(x)"),
    "not": ("__bool__(self)", "self.step() == 1", "if not c:\n        x = 2 * x\n    x = layer(x)"),
    "and": ("__bool__(self)", "self.step() == 1", "x = layer(x) * ((c and 2.0) == 2.0)"),
    "or": ("__bool__(self)", "self.step() == 1", "x = layer(x) * ((c or 2.0) == 2.0)"),
    "bool": ("__bool__(self)", "self.step() == 1", "x = layer(x) * bool(c)"),
    "any": ("__bool__(self)", "self.step() == 1", "x = layer(x) * any([c])"),
    "filter": ("__bool__(self)", "self.step() == 1", "x = layer(x) * len(list(filter(None, [c])))"),
    "assert": ("__bool__(self)", "self.step() > -1", "assert c\n    x = layer(x) * c.n"),
    "the condition of a comprehension": (
        "__bool__(self)",
        "self.step() == 1",
        "x = layer(x) * sum([1 for _ in [1] if c])",
    ),
    "a condition on a length": ("__len__(self)", "self.step()", "if c:\n        x = 2 * x\n    x = layer(x)"),
    "float": ("__float__(self)", "float(self.step())", "x = layer(x) * float(c)"),
    "int": ("__int__(self)", "self.step()", "x = layer(x) * int(c)"),
    "an index": ("__index__(self)", "self.step()", "x = layer(x) * (1.0, 2.0, 3.0)[c]"),
    "a bound of a slice": ("__index__(self)", "self.step()", "_ = (1.0,)[:c]\n    x = layer(x)"),
    "minus": ("__neg__(self)", "self.step()", "x = layer(x) * -c"),
    "abs": ("__abs__(self)", "self.step()", "x = layer(x) * abs(c)"),
    "round": ("__round__(self, n=None)", "self.step()", "x = layer(x) * round(c)"),
    "a shift": ("__lshift__(self, other)", "other + self.step()", "x = layer(c << x)"),
    "in place": ("__iadd__(self, other)", "self.step() and self", "c += 1\n    x = layer(x) * c.n"),
    "divmod": ("__divmod__(self, other)", "(self.step(), other)", "x = layer(x) * divmod(c, 2)[0]"),
    "equal": ("__eq__(self, other)", "self.step() == other", "x = layer(x) * (c == 1)"),
    "not equal": ("__ne__(self, other)", "self.step() != other", "x = layer(x) * (c != 1)"),
    "less": ("__lt__(self, other)", "self.step() < other", "x = layer(x) * (c < 1)"),
    "greater, the other way": ("__gt__(self, other)", "self.step() > other", "x = layer(x) * (1 < c)"),
    "text": ("__str__(self)", "'a' * self.step()", "x = layer(x) * len(str(c))"),
    "text in a text": ("__format__(self, spec)", "'a' * self.step()", "x = layer(x) * len(f'{c}')"),
    "text by %": ("__str__(self)", "'a' * self.step()", "x = layer(x) * len('%s' % (c,))"),
    "a key": ("__hash__(self)", "self.step()", "x = layer(x) * {0: 1.0, 1: 2.0}.get(c, 1.0)"),
    "taken apart": ("__iter__(self)", "iter([self.step()])", "(_,) = c\n    x = layer(x)"),
    "a starred argument": ("__iter__(self)", "iter([self.step()])", "x = layer(x) * max(0, *c)"),
    "a comprehension": ("__iter__(self)", "iter([self.step()])", "x = layer(x) * len([e for e in c])"),
    "a loop": ("__getitem__(self, i)", "[self.step()][i]", "for _ in c:\n        x = 2 * x\n    x = layer(x)"),
    "a walk by a function": ("__iter__(self)", "iter([self.step()])", "x = layer(x) * sum(c)"),
    "an array": ("__array__(self)", "np.asarray(self.step())", "x = layer(x) * jnp.asarray(c)"),
    "an attribute that is missing": ("__getattr__(self, name)", "self.step()", "x = layer(x) * c.scale"),
    "its class": ("__class__(self)", "self.step() and Counter", "isinstance(c, int)\n    x = layer(x) * c.n"),
}


# Where the object comes from: nothing shows the class of what a caller passes, or an unannotated function returns.
PARAMETERS = {"local": "x: jax.Array", "returned": "x: jax.Array", "passed": "x: jax.Array, c"}


def decided(method: str, result: str, body: str, step: str, home: str = "local") -> Plan | Refusal:
    code = HELPER.replace("METHOD", method).replace("RESULT", result).replace("STEP", step)
    if method.startswith("__class__"):
        code = code.replace("    def __class__", "    @property\n    def __class__")
    if home == "returned":
        code += "def make():\n    return Counter()\n\n\nc = make()\n\n\n"
    before = "c = Counter()" if home == "local" else ""
    text = model(f"for layer in self.layers:\n    {body}", before=before, parameters=PARAMETERS[home])
    return only(text.replace("class Block(", f"{code}class Block(", 1))


@pytest.mark.parametrize("home", PARAMETERS)
@pytest.mark.parametrize(("method", "result", "body"), CALLED.values(), ids=CALLED)
def test_what_changes_its_object_has_no_safe_fix(method: str, result: str, body: str, home: str) -> None:
    found = decided(method, result, body, "(self.n + 1) % 3", home)
    assert isinstance(found, Refusal) or not found.safe, found


@pytest.mark.parametrize("name", ["equal", "a shift"])
def test_operators_of_the_project_are_not_understood(name: str) -> None:
    method, result, body = CALLED[name]
    found = decided(method, result.replace("self.step()", "1"), body, "1")
    assert isinstance(found, Plan) and not found.safe, found


# A special method, and code that makes Python call it.
SILENT = [
    ("__hash__(self)", "_ = {c: 1.0}"),
    ("__hash__(self)", "_ = {c}"),
    ("__hash__(self)", "_ = {1.0, c}"),
    ("__hash__(self)", "_ = set([c])"),
    ("__hash__(self)", "_ = dict([(c, 1)])"),
    ("__hash__(self)", "_ = {e: 1 for e in [c]}"),
    ("__hash__(self)", "_ = c in {1: 2}"),
    ("__hash__(self)", "_ = {1: 2}[c]"),
    ("__eq__(self, o)", "_ = (1, 2).index(c)"),
    ("__eq__(self, o)", "_ = [1].count(c)"),
    ("__eq__(self, o)", "_ = c in [1]"),
    ("__eq__(self, o)", "_ = 1 in [c]"),
    ("__eq__(self, o)", "_ = (c,) == (1,)"),
    ("__eq__(self, o)", "_ = [c] != [1]"),
    ("__lt__(self, o)", "_ = (c,) < (1,)"),
    ("__lt__(self, o)", "_ = sorted([c, 1])"),
    ("__lt__(self, o)", "_ = min(c, 1)"),
    ("__index__(self)", "_ = x.reshape(c)"),
    ("__index__(self)", "_ = x.reshape((c, 2))"),
    ("__index__(self)", "_ = x.at[c].add(1.0)"),
    ("__array__(self)", "_ = x.at[0].set(c)"),
    ("__index__(self)", "_ = x[..., c]"),
    ("__index__(self)", "_ = x[c:]"),
    ("__index__(self)", "_ = jnp.zeros((c, 2))"),
    ("__index__(self)", "_ = range(c)"),
    ("__index__(self)", "_ = jnp.sum(x, axis=c)"),
    ("__index__(self)", "_ = x.sum(axis=c)"),
    ("__index__(self)", "_ = [1, 2] * c"),
    ("__index__(self)", "_ = 'a' * c"),
    ("__index__(self)", "_ = jax.nn.softmax(x, axis=c)"),
    ("__iter__(self)", "_ = [*c]"),
    ("__iter__(self)", "_ = (*c, 1)"),
    ("__iter__(self)", "_ = {*c}"),
    ("__iter__(self)", "_ = jnp.stack(c)"),
    ("__iter__(self)", "_ = jnp.concatenate(c)"),
    ("__iter__(self)", "_ = ''.join(c)"),
    ("__iter__(self)", "_ = tuple(c)"),
    ("__iter__(self)", "_ = dict(c)"),
    ("keys(self)", "_ = {**c}"),
    ("keys(self)", "_ = dict(**c)"),
    ("__iter__(self)", "for a, b in [c]:\n        x = x\n"),
    ("__iter__(self)", "_ = list(zip(c))"),
    ("__iter__(self)", "_ = list(map(abs, c))"),
    ("__iter__(self)", "_ = [1] + c"),
    ("__iter__(self)", "y = [1]\n    y += c"),
    ("__iter__(self)", "y = [1]\n    y.extend(c)"),
    ("__bool__(self)", "_ = 1 if c else 2"),
    ("__bool__(self)", "_ = c and 1"),
    ("__bool__(self)", "while c:\n        break"),
    ("__bool__(self)", "_ = jnp.where(c, x, x)"),
    ("__bool__(self)", "_ = [e for e in [1] if c]"),
    ("__bool__(self)", "_ = (lambda: 1 if c else 2)()"),
    ("__bool__(self)", "_ = any([c])"),
    ("__len__(self)", "_ = len(c)"),
    ("__len__(self)", "_ = not c"),
    ("__getitem__(self, i)", "_ = c[0]"),
    ("__getitem__(self, i)", "_ = x[c[0]]"),
    ("__format__(self, s)", "_ = f'{c}'"),
    ("__format__(self, s)", "_ = '{}'.format(c)"),
    ("__str__(self)", "_ = str(c)"),
    ("__repr__(self)", "_ = f'{c!r}'"),
    ("__repr__(self)", "_ = repr(c)"),
    ("__jax_array__(self)", "_ = jnp.sin(c)"),
    ("__jax_array__(self)", "_ = x + c"),
    ("__array__(self)", "_ = np.asarray(c)"),
    ("__array__(self)", "_ = jnp.full((2,), c)"),
    ("__array__(self)", "_ = jax.nn.relu(c)"),
    ("__array__(self)", "_ = jax.lax.add(x, c)"),
    ("__class__(self)", "_ = isinstance(c, int)"),
    ("__getattr__(self, n)", "_ = c.shape"),
    ("__getattr__(self, n)", "_ = c.scale"),
    ("__getattr__(self, n)", "_ = c.T"),
    ("__getattr__(self, n)", "_ = x.astype(c.dtype)"),
    ("__getattr__(self, n)", "_ = getattr(c, 'n2', 1)"),
    ("__getattr__(self, n)", "_ = hasattr(c, 'n2')"),
    ("__get__(self, a, b)", "_ = c.n"),
    ("__call__(self)", "_ = c()"),
    ("__enter__(self)", "with c:\n        pass"),
    ("__next__(self)", "_ = next(c)"),
    ("__iter__(self)", "_ = next(iter(c))"),
    ("__reversed__(self)", "_ = list(reversed(c))"),
    ("__divmod__(self, o)", "_ = divmod(c, 2)"),
    ("__pow__(self, o)", "_ = pow(c, 2)"),
    ("__round__(self)", "_ = round(c)"),
    ("__trunc__(self)", "_ = int(c)"),
    ("__abs__(self)", "_ = abs(c)"),
    ("__complex__(self)", "_ = complex(c)"),
    ("__iadd__(self, o)", "d = c\n    d += 1"),
    ("__matmul__(self, o)", "_ = x @ c"),
    ("__rmatmul__(self, o)", "_ = x @ c"),
    ("__invert__(self)", "_ = ~c"),
    ("__contains__(self, o)", "_ = 1 in c"),
    ("__eq__(self, o)", "match c:\n        case 1:\n            pass"),
    ("__setattr__(self, a, b)", "c.n = 1"),
    ("__delattr__(self, a)", "del c.n"),
    ("__iter__(self)", "_ = jax.tree.map(lambda e: e, c)"),
    ("__eq__(self, o)", "_ = jax.tree.leaves(c)"),
    ("__hash__(self)", "_ = jax.vmap(lambda e: e, in_axes=c)(x)"),
    ("__bool__(self)", "_ = jax.lax.cond(c, lambda: 1, lambda: 2)"),
    ("__index__(self)", "_ = jax.lax.fori_loop(0, c, lambda i, y: y, x)"),
    ("__index__(self)", "_ = jax.random.normal(jax.random.key(0), (c,))"),
    ("__index__(self)", "_ = jax.random.split(jax.random.key(0), c)"),
    ("__index__(self)", "_ = jax.random.key(c)"),
    ("__index__(self)", "_ = jax.random.fold_in(jax.random.key(0), c)"),
    ("__iter__(self)", "_ = jnp.array(c)"),
    ("__len__(self)", "_ = jnp.asarray(c)"),
    ("__float__(self)", "_ = float(c)"),
    ("__float__(self)", "import math\n    _ = math.sqrt(c)"),
    ("__int__(self)", "_ = int(c)"),
    ("__floor__(self)", "import math\n    _ = math.floor(c)"),
    ("__str__(self)", "_ = '%s' % (c,)"),
    ("__str__(self)", "_ = ' '.join([str(c)])"),
    ("__iter__(self)", "(lambda *a: 1)(*c)"),
    ("keys(self)", "(lambda **a: 1)(**c)"),
    ("__iter__(self)", "y, *z = c"),
    ("__iter__(self)", "[y] = c"),
]


@pytest.mark.parametrize("home", PARAMETERS)
@pytest.mark.parametrize(("method", "code"), SILENT, ids=[code for _, code in SILENT])
def test_every_use_of_an_object_may_call_its_special_methods(method: str, code: str, home: str) -> None:
    found = decided(method, "self.step()", f"{code}\n    x = layer(x)", "(self.n + 1) % 3", home)
    assert isinstance(found, Refusal) or not found.safe, found
