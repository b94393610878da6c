"""Obligations that no case shows: those about other code, which no case runs, and those about time."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import pytest

from scanify.analysis.plan import Holds, Plan
from scanify.analysis.stack import CallStack, InitStack
from scanify.cli import run
from scanify.commands.verifying.cases import rewrite_for_cases
from scanify.configuration.config import load_config
from scanify.errors import Exit
from scanify.pipeline import Project, rewrite_sources
from scanify.pytest_plugin.comparison import Comparison, Nothing
from scanify.verify.verdict import CaseResult, LoopRun, PolicyResult, Status, Verdict, Verification
from tests.texts import texts

MODEL = """\
import equinox as eqx
import jax


class Block(eqx.Module):
    norm: eqx.nn.LayerNorm
    linear: eqx.nn.Linear

    def __init__(self, key):
        self.norm = eqx.nn.LayerNorm(4)
        self.linear = eqx.nn.Linear(4, 4, key=key)

    def __call__(self, x):
        return x + self.linear(self.norm(x))


class Model(eqx.Module):
    layers: list[Block]

    def __init__(self, key):
        self.layers = [Block(k) for k in jax.random.split(key, 4)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
TRAIN = """\
import jax
import optax


def decays(params):
    return jax.tree.map(lambda p: p.ndim > 1, params)


def reinitialised(model, key):
    def fresh(leaf):
        if leaf.ndim < 2:
            return leaf
        rows, columns = leaf.shape
        return jax.random.normal(key, (rows, columns)) / columns**0.5

    return jax.tree.map(fresh, model)


optimizer = optax.adamw(1e-2, weight_decay=0.1, mask=decays)
"""
MASK = "import jax\n\n\ndef decays(params):\n    return jax.tree.map(lambda p: p.ndim > 1, params)\n"
CASES = "import jax\nimport jax.numpy as jnp\n\n\ndef forward(module):\n    return module.Model(jax.random.key(0)), (jnp.ones(4),)\n"
WROTE = "the list is built stacked"


class Stand:
    """Stands in for `scanify.verify.run.verify`: every case reaches every line, and every verdict is PROVED."""

    verdict = Verdict(Status.PROVED)

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, changes: Mapping[Path, tuple[bytes, bytes]], cases: Any, **options: Any) -> Verification:
        loops = tuple(LoopRun(str(path), line, "", 3) for path in changes for line in range(1, 100))
        if "reached" in options.get("comparer", ""):
            return Verification((CaseResult("f", loops=loops),))
        self.calls += 1
        results = tuple(PolicyResult(policy or "none", self.verdict, self.verdict) for policy in options["policies"])
        return Verification((CaseResult("f", self.verdict, results),))


@pytest.fixture
def stand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Stand:
    stand = Stand()
    monkeypatch.setattr("scanify.verify.run.verify", stand)
    monkeypatch.chdir(tmp_path)
    written(tmp_path, MODEL, MASK)
    return stand


def written(folder: Path, model: str, train: str) -> None:
    (folder / "pyproject.toml").write_text("")
    (folder / "model.py").write_text(model)
    (folder / "train.py").write_text(train)
    (folder / "cases.py").write_text(CASES)


def last_line(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err.rstrip("\n").rpartition("\n")[2]


def test_a_decay_mask_and_an_initialiser_see_after_a_proof_what_they_saw_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import jax

    monkeypatch.chdir(tmp_path)
    written(tmp_path, MODEL, TRAIN)
    assert run(["rewrite", ".", "--case", "cases.py:forward"]) == Exit.OK
    err = capsys.readouterr().err
    assert "PROVED" in err and "train.py:6 reads the rank of each leaf" in err and "--accept elsewhere" in err
    found: dict[str, Any] = {}
    for name in ("model.py", "train.py"):
        exec((tmp_path / name).read_text(), found)
    model = found["Model"](jax.random.key(0))
    assert "ArrayStacked.of(self.layers)" in (tmp_path / "model.py").read_text()
    assert isinstance(model.layers, list) and not found["decays"](model).layers[0].norm.weight
    assert found["reinitialised"](model, jax.random.key(1)).layers[3].linear.weight.shape == (4, 4)


def test_what_is_accepted_is_built_stacked_and_the_last_lines_say_what_is_not_shown(
    stand: Stand, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["rewrite", ".", "--case", "cases.py:forward", "--accept", "elsewhere"]) == Exit.OK
    err = capsys.readouterr().err
    assert WROTE in err and "self.layers.fold(x)" in (tmp_path / "model.py").read_text()
    assert "not shown by a case: train.py:5 reads the rank of each leaf (SCN310)\n" in " ".join(err.split(" ")).replace(
        "\nleaf", " leaf"
    )


@pytest.mark.parametrize("options", [["--unsafe"], ["--accept", "elsewhere", "--no-verify"]])
def test_what_is_accepted_needs_no_case(stand: Stand, tmp_path: Path, options: list[str]) -> None:
    assert run(["rewrite", ".", *options]) == Exit.OK and stand.calls == 0
    assert "self.layers.fold(x)" in (tmp_path / "model.py").read_text()


def test_to_accept_other_code_is_not_to_accept_more(stand: Stand, tmp_path: Path) -> None:
    unsafe = MODEL.replace("x = layer(x)", "x = act(layer(x))").replace(
        "self, x):\n        for", "self, x, act):\n        for"
    )
    written(tmp_path, unsafe, MASK)
    assert run(["rewrite", ".", "--accept", "elsewhere"]) == Exit.OK
    assert (tmp_path / "model.py").read_text() == unsafe


def test_a_list_that_cannot_stay_holds_its_loop_back(
    stand: Stand, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, MODEL, MASK)
    command = ["rewrite", ".", "--case", "cases.py:forward", "--stack", "init"]
    assert run(command) == Exit.FINDINGS
    assert (tmp_path / "model.py").read_text() == MODEL and stand.calls == 0
    why = "train.py:5 reads the rank of each leaf (SCN310)"
    assert last_line(capsys) == f"Nothing to rewrite in 3 files; 1 loop held back ({why}; see --accept)."
    assert run([*command, "--accept", "elsewhere"]) == Exit.OK
    assert (tmp_path / "model.py").read_text() != MODEL


PARAMETERS = """

def forward(params, x):
    for p in params["blocks"]:
        x = x @ p["w"]
    return x
"""
BOTH = ["--case", "cases.py:forward", "--stack", "init", "--target", "lax"]


def test_the_others_are_written_where_one_is_held_back(
    stand: Stand, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, MODEL + PARAMETERS, MASK)
    assert run(["rewrite", ".", *BOTH]) == Exit.FINDINGS
    text = (tmp_path / "model.py").read_text()
    assert "in self.layers:" in text and "for p in params" not in text
    err = capsys.readouterr().err
    assert "1 loop held back" in err.partition("PROVED  ")[2].partition("model.py:")[0].replace("\n", " ")
    assert "1 loop rewritten in 1 file; 1 loop held back (train.py:5 reads" in err


READERS = {
    "one key for each leaf": "import jax\n\n\ndef noisy(key, params):\n    leaves, tree = jax.tree.flatten(params)\n    keys = jax.random.split(key, len(leaves))\n    return jax.tree.unflatten(tree, [p + jax.random.normal(k, p.shape) for p, k in zip(leaves, keys)])\n",
    "modules that are looked for": "import equinox as eqx\nimport jax\n\n\ndef weights(model):\n    def is_linear(x):\n        return isinstance(x, eqx.nn.Linear)\n\n    return [x.weight for x in jax.tree.leaves(model, is_leaf=is_linear) if is_linear(x)]\n\n\ndef fresh(model, key):\n    return eqx.tree_at(weights, model, [jax.random.normal(key, w.shape) for w in weights(model)])\n",
    "an optimiser that takes norms": "import optax\n\n\ndef optimizer(rate):\n    return optax.chain(optax.adaptive_grad_clip(0.01), optax.sgd(rate))\n",
}


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_of_the_tree_keeps_the_list(reader: str, tmp_path: Path) -> None:
    """Code that may make the layers unlike, such as one that replaces modules, leaves the choice to a `BlockSeq`."""
    written(tmp_path, MODEL, READERS[reader])
    (plan,) = for_cases(tmp_path).applied
    assert isinstance(plan.stack, CallStack) and "train.py" in plan.stack.reason
    assert plan.holds is Holds.BLOCK_SEQ


def for_cases(folder: Path, **options: Any):  # type: ignore[no-untyped-def]
    chosen = {"stack": None, "remat": None, "target": "scanify", "wanted": lambda loop: True, **options}
    return rewrite_for_cases(Project.load([folder]), **chosen)


def test_without_a_case_the_list_stays_and_the_fix_is_safe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, SHARED, MASK)
    monkeypatch.chdir(tmp_path)
    assert run(["check", "."]) == Exit.FINDINGS
    said = capsys.readouterr().out
    assert "3 can be rewritten.\n" in said and "unsafe" not in said
    assert said.count("train.py:5 reads the rank of each leaf (SCN310)") == 1
    assert said.count("as other code may need it: the code that model.py:24 names; `--accept elsewhere`") == 2
    assert run(["check", ".", "--format", "json"]) == Exit.FINDINGS
    report = json.loads(capsys.readouterr().out)
    assert [(each["fix"], each["stack"], each["obligations"]) for each in report["loops"]] == [("safe", "call", [])] * 3
    (readers,) = report["readers"]
    assert [each["line"] for each in readers["loops"]] == [24, 30, 37]
    (place,) = readers["places"]
    assert place == {
        "path": "train.py", "cell": None, "line": 5, "rule": "SCN310", "reads": "the rank of each leaf"
    }  # fmt: skip
    assert run(["rewrite", "."]) == Exit.OK
    assert (tmp_path / "model.py").read_text().count("ArrayStacked.of(") == 3
    assert capsys.readouterr().err.count("train.py:5 reads the rank of each leaf (SCN310)") == 1


def test_one_obligation_about_all_readers_of_a_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, SHARED, TRAIN)
    monkeypatch.chdir(tmp_path)
    for options in (["check", "."], ["rewrite", "."]):
        run([*options, "--stack", "init"])
        said = "".join(capsys.readouterr())
        assert (
            said.count("    unsafe (elsewhere): ") == 3
            and said.count("train.py:6 reads the rank of each leaf (SCN310)") == 1
        )
        assert (
            said.count("    unsafe (elsewhere): the code that model.py:24 names: that changes where layers are stacked")
            == 2
        )


@pytest.mark.parametrize(
    ("train", "unlike"),
    [
        ("jax.tree_util.tree_map_with_path(lambda p, x: x if '[0]' in str(p) else x.astype('bfloat16'), model)", True),
        ("jax.tree.map(lambda x: x.astype('bfloat16') if x.ndim > 1 else x, model)", False),
        ("jax.tree.map(lambda x: x if float(x.ravel()[0]) > 0 else x.astype('bfloat16'), model)", True),
        ("jax.tree.map(lambda x: x if float(jax.numpy.linalg.norm(x)) < 1.4 else x.astype('bfloat16'), model)", True),
    ],
)
def test_a_list_that_other_code_changes_is_run_as_it_then_is(train: str, unlike: bool, tmp_path: Path) -> None:
    code = f"import equinox as eqx\nimport jax\n\n\ndef changed(model):\n    return {train}\n"
    written(tmp_path, MODEL, code)
    outcome = rewrite_sources(Project.load([tmp_path]))
    found: dict[str, Any] = {}
    for text in (outcome.texts[tmp_path / "model.py"], code):
        exec(text, found)
    model = found["changed"](found["Model"](jax.random.key(0)))
    x = jax.numpy.arange(4.0)
    y = x
    for layer in model.layers:
        y = layer(y)
    assert jax.numpy.allclose(model(x), y) and (outcome.applied[0].holds is Holds.BLOCK_SEQ) == unlike


def test_what_else_is_open_stays_an_obligation_with_the_readers(tmp_path: Path) -> None:
    model = MODEL.replace("x = layer(x)", "x = act(layer(x))").replace(
        "self, x):\n        for", "self, x, act):\n        for"
    )
    written(tmp_path, model, MASK)
    outcome = rewrite_sources(Project.load([tmp_path]))
    (held,) = outcome.held
    assert isinstance(held.stack, InitStack) and len(texts(held.obligations)) == 2 and len(texts(held.elsewhere)) == 1


SHARED = (
    MODEL
    + """\

    def states(self, x):
        found = []
        for layer in self.layers:
            x = layer(x)
            found.append(x)
        return found

    def backwards(self, x):
        blocks = self.layers
        for block in blocks:
            x = block(x) * 2
        return x
"""
)


@pytest.mark.parametrize("accepted", [frozenset(), frozenset(["elsewhere"])])
def test_all_loops_over_one_list_leave_it_alone_or_none_does(accepted: frozenset[str], tmp_path: Path) -> None:
    written(tmp_path, SHARED, MASK)
    applied = for_cases(tmp_path, accepted=accepted).applied
    assert len(applied) == 3 and {type(plan.stack) for plan in applied} == {InitStack if accepted else CallStack}


def test_a_loop_that_walks_the_list_by_another_name_has_the_obligations_of_the_others(tmp_path: Path) -> None:
    written(tmp_path, SHARED, "def first(model):\n    return vars(model)['layers'][0]\n")
    plans = [each for each in Project.load([tmp_path]).analyse().loops if isinstance(each, Plan)]
    assert (
        len(plans) == 3 and len({texts(plan.elsewhere) for plan in plans}) == 1 and not any(plan.safe for plan in plans)
    )


def test_layers_that_other_code_puts_into_the_list_are_looked_at_in_each_call(tmp_path: Path) -> None:
    grown = "def grown(model, block):\n    model.layers.append(block)\n    return model\n"
    written(tmp_path, MODEL, grown)
    (held,) = rewrite_sources(Project.load([tmp_path])).held
    assert texts(held.obligations) == ("the list grows after it was built: then other layers may be in `self.layers`",)
    assert "BlockSeq.of(self.layers).fold(x)" in for_cases(tmp_path).texts[tmp_path / "model.py"]


def test_the_names_of_linen_modules_in_other_code(tmp_path: Path) -> None:
    model = (
        "import flax.linen as nn\n\n\nclass Model(nn.Module):\n    @nn.compact\n    def __call__(self, x):\n"
        "        for i in range(4):\n            x = nn.Dense(4, name=f'layer_{i}')(x)\n        return x\n"
    )
    written(tmp_path, model, "def first(params):\n    return params['layer_0']\n")
    outcome = for_cases(tmp_path, target="linen")
    assert not outcome.applied and "layer_0" in texts(outcome.beyond_cases[0].elsewhere)[0]


def test_verify_compares_what_a_rewrite_would_write(
    stand: Stand, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["verify", "model.py", "--case", "cases.py:forward", "--format", "json"]
    assert run(command) == Exit.OK
    said = json.loads(capsys.readouterr().out)
    assert "ArrayStacked.of(self.layers).fold(x)" in said["diff"] and not said["held_back"] and not said["not_shown"]
    assert run([*command, "--accept", "elsewhere"]) == Exit.OK
    said = json.loads(capsys.readouterr().out)
    assert "self.layers.fold(x)" in said["diff"]
    assert said["not_shown"] == "not shown by a case: train.py:5 reads the rank of each leaf (SCN310)"


@pytest.mark.parametrize("form", ["text", "json", "markdown", "junit", "html"])
def test_every_report_says_what_was_held_back(
    stand: Stand, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    written(tmp_path, MODEL + PARAMETERS, MASK)
    assert run(["verify", "model.py", *BOTH, "--format", form]) == Exit.FINDINGS
    said = " ".join(capsys.readouterr().out.split())
    assert "1 loop held back: train.py:5 reads the rank of each leaf (SCN310) (see --accept)" in said


def test_verify_of_nothing_but_what_is_held_back_is_no_success(
    stand: Stand, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["verify", "model.py", "--case", "cases.py:forward", "--stack", "init"]
    assert run(command) == Exit.USAGE and stand.calls == 0
    assert "train.py:5 reads the rank of each leaf" in capsys.readouterr().err
    assert run([*command, "--accept", "elsewhere"]) == Exit.OK and stand.calls == 1


def test_a_test_of_a_case_is_of_what_a_rewrite_would_write(stand: Stand, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.scanify]\nstack = "init"\n[tool.scanify.cases]\nf = "cases.py:forward"\n'
    )
    compared = Comparison(load_config([tmp_path]), "f", "cases.py:forward", None)
    with pytest.raises(Nothing, match=r"train.py:5 reads the rank of each leaf"):
        compared.results(["none"])


def test_a_stack_that_other_code_may_need_does_not_become_a_list_by_a_case(
    stand: Stand, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "1")  # nothing is kept of the rewrite
    assert run(["rewrite", "model.py", "--unsafe"]) == Exit.OK
    scan = (tmp_path / "model.py").read_text()
    assert run(["unroll", "model.py", "--case", "cases.py:forward"]) == Exit.FINDINGS
    assert (tmp_path / "model.py").read_text() == scan
    assert "help: no case shows that: `--accept elsewhere` takes it unverified" in capsys.readouterr().err
    assert run(["unroll", "model.py", "--case", "cases.py:forward", "--accept", "elsewhere"]) == Exit.OK
    assert (tmp_path / "model.py").read_text() == MODEL


def test_a_scan_in_the_call_is_unrolled_as_it_leaves_the_list_alone(
    stand: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "1")
    assert run(["rewrite", "model.py", "--case", "cases.py:forward"]) == Exit.OK
    assert run(["unroll", "model.py"]) == Exit.OK and (tmp_path / "model.py").read_text() == MODEL


DECODER = (
    MODEL.replace(
        "def __call__(self, x):\n        return x + ",
        "def __call__(self, x):\n        return self.step(x, 0.0)[0]\n\n    def step(self, x, c):\n        return x + ",
        1,
    )
    .replace("self.linear(self.norm(x))", "self.linear(self.norm(x)) + c, c + x", 1)
    .partition("    def __call__(self, x):\n        for")[0]
    + """\
    def __call__(self, x, caches):
        new = {}
        for i, layer in enumerate(self.layers):
            x, new[str(i)] = layer.step(x, caches[str(i)])
        return x, new
"""
)
TRAINED = (
    DECODER
    + """\

    def train(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
)
COPIES = "each call copies `caches[str(i)]` (line 29) into a stack and `new` out of it"


def test_caches_that_come_and_go_layer_by_layer_are_no_safe_fix_and_no_case_makes_them_one(
    stand: Stand, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, DECODER, "")
    assert run(["check", "."]) == Exit.FINDINGS
    shown = capsys.readouterr().out
    assert f"unsafe (cost): {COPIES}: " in shown and "another loop over it" not in shown
    assert run(["rewrite", ".", "--no-verify", "--exit-non-zero-on-change"]) == Exit.OK  # as a hook does
    assert run(["rewrite", ".", "--case", "cases.py:forward"]) == Exit.FINDINGS
    assert last_line(capsys) == f"Nothing to rewrite in 3 files; 1 loop held back ({COPIES}; see --accept)."
    assert run(["rewrite", ".", "--case", "cases.py:forward", "--accept", "elsewhere"]) == Exit.FINDINGS
    assert (tmp_path / "model.py").read_text() == DECODER and stand.calls == 0
    assert run(["rewrite", ".", "--case", "cases.py:forward", "--accept", "cost"]) == Exit.OK and stand.calls == 1
    assert "collect_via" in (tmp_path / "model.py").read_text()


@pytest.mark.parametrize("options", [["--no-verify"], ["--case", "cases.py:forward"]])
def test_a_loop_that_stays_for_its_cost_does_not_walk_a_stack(
    stand: Stand, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    written(tmp_path, TRAINED, "")
    run(["check", "."])
    assert capsys.readouterr().out.count("another loop over it stays as it is (model.py:28)") == 1
    run(["rewrite", ".", *options])
    text = (tmp_path / "model.py").read_text()
    assert "ArrayStacked.of(self.layers).fold(x)" in text and "for i, layer in enumerate(self.layers):" in text
    assert run(["rewrite", ".", "--unsafe", "--no-verify"]) == Exit.OK


def test_a_loop_that_walks_a_list_for_two_reasons_needs_both_accepted(stand: Stand, tmp_path: Path) -> None:
    written(tmp_path, TRAINED, MASK)
    command = ["rewrite", ".", "--case", "cases.py:forward"]
    assert run([*command, "--accept", "elsewhere"]) == Exit.FINDINGS
    assert "ArrayStacked.of(self.layers).fold(x)" in (tmp_path / "model.py").read_text()
    written(tmp_path, TRAINED, MASK)
    assert run([*command, "--accept", "elsewhere", "--accept", "cost"]) == Exit.OK
    text = (tmp_path / "model.py").read_text()
    assert "self.layers.fold(x)" in text and "collect_via" in text and ".of(self.layers)" not in text


def test_verify_compares_what_is_held_for_its_cost_alone(
    stand: Stand, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, DECODER, "")
    assert run(["verify", "model.py", "--case", "cases.py:forward", "--format", "json"]) == Exit.OK
    said = json.loads(capsys.readouterr().out)
    assert said["not_shown"] == f"not shown by a case: {COPIES}" and not said["held_back"]


def test_a_scan_becomes_a_loop_whatever_the_scan_costs(
    stand: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "1")
    text = DECODER.replace("{}", "[]").replace(
        "i, layer in enumerate(self.layers)", "layer, c in zip(self.layers, caches)"
    )
    text = text.replace(
        "x, new[str(i)] = layer.step(x, caches[str(i)])", "x, c = layer.step(x, c)\n            new.append(c)"
    )
    written(tmp_path, text, "")
    assert run(["rewrite", ".", "--accept", "cost"]) == Exit.OK
    assert "collect_via" in (tmp_path / "model.py").read_text()
    assert run(["unroll", "."]) == Exit.OK
    assert (tmp_path / "model.py").read_text() == text


def test_loops_of_a_project_that_reads_programs_are_compared_and_written_if_their_cost_is_accepted(
    stand: Stand, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counter = "import jax\n\n\ndef flops(f, x):\n    return jax.jit(f).lower(x).compile().cost_analysis()['flops']\n"
    written(tmp_path, MODEL, counter)
    assert run(["verify", "model.py", "--case", "cases.py:forward", "--format", "json"]) == Exit.OK
    assert json.loads(capsys.readouterr().out)["not_shown"].endswith(
        "reads the cost of a program (SCN320), in which a scan counts once"
    )
    assert run(["rewrite", ".", "--case", "cases.py:forward"]) == Exit.FINDINGS
    assert (tmp_path / "model.py").read_text() == MODEL
    assert run(["rewrite", ".", "--case", "cases.py:forward", "--accept", "cost"]) == Exit.OK
    assert "self.layers.fold(x)" in (tmp_path / "model.py").read_text()
