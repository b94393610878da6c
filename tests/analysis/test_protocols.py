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
