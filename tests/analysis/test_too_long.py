"""Programs that are too long to be run to their ends: what is not seen is said, and what is seen does not double."""

import ast
from pathlib import Path

from helpers import MANY, model, only

from scanify.analysis.index.project import Index
from scanify.analysis.plan import Plan
from scanify.analysis.values.code.expressions import evaluate
from scanify.analysis.values.domain import Listed
from scanify.analysis.values.run import interpreter
from scanify.analysis.values.run.interpreter import Interpreter
from scanify.source.file import Source

LOOP = "for layer in self.layers:\n    x = layer(x)"
LONG = "\n".join(["    n = n + 1"] * 200)


def later(use: str) -> str:
    """A function behind the model that uses its list after two hundred statements."""
    return f"\n\ndef later(model: Model, n):\n{LONG}\n    return {use}\n"


def test_a_function_whose_end_is_not_reached_may_need_the_list(monkeypatch):
    monkeypatch.setattr(interpreter, "MAX_STEPS", 400)
    text = model(LOOP, init=f"self.layers = {MANY}\n")
    short, long = only(text), only(text + later("model.layers + []"))
    assert isinstance(short, Plan) and isinstance(long, Plan)
    assert short.safe
    assert any("`later`" in each and "too long to be followed" in each for each in long.obligations)


def test_one_that_does_not_name_the_list_may_be_as_long_as_it_is(monkeypatch):
    monkeypatch.setattr(interpreter, "MAX_STEPS", 400)
    found = only(model(LOOP, init=f"self.layers = {MANY}\n") + later("model.other"))
    assert isinstance(found, Plan) and found.safe


def test_all_questions_together_have_an_end(monkeypatch):
    monkeypatch.setattr(interpreter, "MOST_STEPS", 0)
    monkeypatch.setattr(interpreter, "LEAST_STEPS", 400)
    long = only(model(LOOP, init=f"self.layers = {MANY}\n") + later("model.layers + []"))
    assert isinstance(long, Plan) and not long.safe


def test_what_a_call_asks_of_its_own_loops_does_not_double():
    text = model(LOOP, init=f"self.layers = {MANY}\nself.found = f6([depth, dim])\n")
    text += "\n\ndef f0(ops):\n    out = []\n    for op in ops:\n"
    text += "        if op > 2:\n            out.append(op)\n    return out\n"
    text += "".join(f"\n\ndef f{at + 1}(ops):\n    return f{at}(ops) + f{at}(ops)\n" for at in range(6))
    source = Source(Path("m.py"), text)
    run = Interpreter(Index(Path(), [source], {source.path: source}.get, {}))
    env = run.module_env(run.index.module_at(source.path))
    with run.question(), run.recording() as effects:
        given = evaluate(run, env, ast.parse("f6([2, 3])", mode="eval").body)
    assert isinstance(given, Listed)
    assert len(effects) < 10
