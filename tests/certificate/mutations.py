"""Certificates with one field changed, which must all be rejected; `python -m tests.certificate.mutations` tries them.

The seal of a changed certificate is made anew, so that it is the checker that has to see what is wrong.
"""

import copy
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from scanify.replay.check import replay
from scanify.replay.form import Rejected
from tests.certificate.programs import sealed, text

Case = dict[str, Any]
Mutation = Callable[[random.Random, Case], bool]


def _equation(rng: random.Random, case: Case) -> tuple[list[Any], int]:
    """An equation, and how many values are known before it."""
    jaxpr = rng.choice([each for each in case["tables"]["jaxprs"] if each[1]])
    at = rng.randrange(len(jaxpr[1]))
    return jaxpr[1][at], len(jaxpr[0]) + sum(len(each[3]) for each in jaxpr[1][:at])


def _other(rng: random.Random, value: Any, among: list[Any]) -> Any:
    return rng.choice([each for each in among if each != value])


def operand(rng: random.Random, case: Case) -> bool:
    """Another value of the same jaxpr."""
    equation, known = _equation(rng, case)
    if not equation[2]:
        return False
    at = rng.randrange(len(equation[2]))
    equation[2][at] = _other(rng, equation[2][at], [*range(known), -1, -2])
    return True


def primitive(rng: random.Random, case: Case) -> bool:
    """Another operation, of the same operands."""
    equation, _ = _equation(rng, case)
    named = {each[0] for jaxpr in case["tables"]["jaxprs"] for each in jaxpr[1]}
    equation[0] = _other(rng, equation[0], sorted(named))
    return True


def parameters(rng: random.Random, case: Case) -> bool:
    """The parameters of another equation."""
    equation, _ = _equation(rng, case)
    equation[1] = _other(rng, equation[1], list(range(len(case["tables"]["params"]))))
    return True


def parameter(rng: random.Random, case: Case) -> bool:
    """One number, text or truth value within parameters."""
    return _leaf(rng, rng.choice(case["tables"]["params"]))


def constant(rng: random.Random, case: Case) -> bool:
    """One byte of a constant."""
    each = rng.choice(case["tables"]["constants"])
    digits = list(each[4])
    if each[3] == "bytes" or not digits:
        return False
    at = rng.randrange(len(digits))
    digits[at] = _other(rng, digits[at], list("0123456789abcdef"))
    each[4] = "".join(digits)
    return True


def aval(rng: random.Random, case: Case) -> bool:
    """A shape or a dtype, wherever it is used."""
    return _leaf(rng, rng.choice(case["tables"]["avals"]))


def aval_of_a_result(rng: random.Random, case: Case) -> bool:
    """The aval of one result."""
    equation, _ = _equation(rng, case)
    at = rng.randrange(len(equation[3]))
    equation[3][at] = _other(rng, equation[3][at], list(range(len(case["tables"]["avals"]))))
    return True


def output(rng: random.Random, case: Case) -> bool:
    """Another value is given back."""
    jaxpr = rng.choice(case["tables"]["jaxprs"])
    known = len(jaxpr[0]) + sum(len(each[3]) for each in jaxpr[1])
    at = rng.randrange(len(jaxpr[2]))
    jaxpr[2][at] = _other(rng, jaxpr[2][at], [*range(known), -1])
    return True


def left_out(rng: random.Random, case: Case) -> bool:
    """An equation, a check, an output is gone."""
    jaxpr = rng.choice([each for each in case["tables"]["jaxprs"] if each[1]])
    things = rng.choice([jaxpr[0], jaxpr[1], jaxpr[2]])
    if not things:
        return False
    del things[rng.randrange(len(things))]
    return True


def step(rng: random.Random, case: Case) -> bool:
    """Another rule, or a rule on another equation."""
    steps = rng.choice(case["checks"])[rng.choice(["before", "after"])]["steps"]
    rules = steps[rng.choice(sorted(steps))]
    rule = rng.choice(sorted(rules))
    if rng.random() < 0.5:
        rules[_other(rng, rule, ["move", "compute", "same", "unroll", "whole", "branch", "choose"])] = rules.pop(rule)
    else:
        at = rng.randrange(len(rules[rule]))
        rules[rule][at] += 1
    return True


def claim(rng: random.Random, case: Case) -> bool:
    """What a check says of its programs."""
    check = rng.choice(case["checks"])
    name = rng.choice(["before", "after", "cotangents", "tangents", "result"])
    if name in ("before", "after"):
        check[name]["program"] = _other(rng, check[name]["program"], list(range(len(case["tables"]["jaxprs"]))))
    elif name == "result":
        check[name] = check[name][::-1]
    else:
        check[name] += 1
    return True


def _leaf(rng: random.Random, thing: Any) -> bool:
    places = list(_leaves(thing))
    if not places:
        return False
    held, key = rng.choice(places)
    value = held[key]
    if isinstance(value, bool):
        held[key] = not value
    elif isinstance(value, int):
        held[key] = value + rng.choice([-1, 1])
    elif value is None:
        held[key] = 1
    else:
        held[key] = value[:-1] if value else "x"
    return True


def _leaves(thing: Any) -> Iterator[tuple[Any, Any]]:
    items = thing.items() if isinstance(thing, dict) else enumerate(thing)
    for key, each in list(items):
        if isinstance(each, dict | list):
            yield from _leaves(each)
        else:
            yield thing, key


KINDS: tuple[Mutation, ...] = (
    operand,
    primitive,
    parameters,
    parameter,
    constant,
    aval,
    aval_of_a_result,
    output,
    left_out,
    step,
    claim,
)


def mutated(original: str, seed: int, kind: Mutation) -> dict[str, Any]:
    """The certificate with one field changed, and a seal of its own."""
    rng = random.Random(f"{kind.__name__} {seed}")
    while True:
        certificate = copy.deepcopy(json.loads(original))
        if kind(rng, rng.choice(certificate["cases"])):
            return sealed({name: each for name, each in certificate.items() if name != "sha256"})


def accepted(certificate: dict[str, Any]) -> bool:
    try:
        replay(json.dumps(certificate))
    except Rejected:
        return False
    return True


def _main() -> None:
    original = Path(sys.argv[1]).read_text(encoding="utf-8") if len(sys.argv) > 1 else text()
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    replay(original)
    tried: Counter[str] = Counter()
    for seed in range(count):
        kind = KINDS[seed % len(KINDS)]
        tried[kind.__name__] += 1
        if accepted(mutated(original, seed, kind)):
            raise SystemExit(f"a certificate with another {kind.__name__} is accepted (seed {seed})")
    print(f"{count} mutated certificates, all rejected: {dict(tried)}")


if __name__ == "__main__":
    _main()
