"""Wrong rewrites that only a sweep over the case's sizes tells, and versions that run code of each other."""

from tests.mutants.mutant import Model, Mutant
from tests.mutants.run import LIBRARY
from tests.verify import test_mixed as mixed
from tests.verify import test_sweep as swept


def _model(name: str, before: str, changes: dict[str, str], cases: str) -> Model:
    after = before
    for old, new in changes.items():
        assert after.count(old) == 1
        after = after.replace(old, new)
    return Model(name, {"model.py": before}, {"model.py": after}, "model.py", cases, "model", ("none",), None)


def _swept(entry: str) -> Model:
    return _model(
        "a model in two sizes",
        swept.MODEL,
        {swept.LIST: f"ArrayStacked.of({swept.LIST})", swept.LOOP: swept.FOLD},
        swept.CASES.partition("model.sweep")[0] + f"model.sweep = [{entry}]\n",
    )


LENGTHS, KEYS = _swept('{"length": 7}'), _swept('{"key": None}')

OWN, SHARED = 'found = {"block": Block}', 'found = found.setdefault("known", {"block": Block})'
REGISTERED = _model(
    "a model of a registered layer",
    mixed.MODEL.replace("import calendar\n", f"from {LIBRARY} import found\n")
    .replace("REGISTER", SHARED)
    .replace("calendar.", ""),
    {
        SHARED: OWN,  # in a registry of the project each version is by itself
        mixed.LIST.replace("calendar.", ""): mixed.STACK.replace("calendar.", ""),
        mixed.LOOP: mixed.FOLD,
    },
    mixed.CASES,
)

MUTANTS = (
    Mutant(
        "the mask is right for the size of the defaults",
        LENGTHS,
        (("mask[:, None]", "(mask if len(x) < 5 else jnp.roll(mask, 1))[:, None]"),),
        "sweep",
        only=True,
        says="length=7",
    ),
    Mutant(
        "the number of keys is that of the tokens",
        LENGTHS,
        (("else jax.random.split(key, 3)", "else jax.random.split(key, len(x) - 1)"),),
        "sweep",
        only=True,
        says="length=7.*cannot be traced",
    ),
    Mutant(
        "the mask is another one where there is no key",
        KEYS,
        (swept.IGNORES_NONE,),
        "sweep",
        only=True,
        says="key=None",
    ),
    Mutant(
        "the layers come from a registry that knows the original alone",
        REGISTERED,
        ((OWN, SHARED), ("return jnp.sin(x * self.w)", "return jnp.cos(x * self.w)")),
        "versions kept apart",
        only=True,
    ),
)
