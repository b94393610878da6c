"""Values that the text of the model's own file knows: each source has a model that nothing else builds or calls."""

import pytest

from tests.propose.helpers import answer_for, case_text, line_of

LOOP = "\n    def __call__(self, x):\n        for layer in self.layers:\n            x = layer(x)\n        return x\n"


def model(parameters: str, layer: str = "Block(dim, key=k)", before: str = "pass", call: str = LOOP) -> str:
    """A model that takes `parameters`, and runs `before` in its constructor."""
    return (
        "\nclass Model(eqx.Module):\n    layers: list\n\n"
        f"    def __init__(self, {parameters}, dim: int, depth: int, *, key: PRNGKeyArray):\n        {before}\n"
        f"        self.layers = [{layer} for k in jax.random.split(key, depth)]\n{call}"
    )


@pytest.mark.parametrize(
    ("source", "written"),
    [
        pytest.param(
            model("mode: str", before="assert mode == 'pre' or mode in ('post', 'none')"), "mode='pre'", id="compared"
        ),
        pytest.param(
            model("mode: str", before="match mode:\n            case 'pre' | 'post': pass\n            case _: 1 / 0"),
            "mode='pre'",
            id="matched",
        ),
        pytest.param(model("mode: str", before="{'relu': 1, 'tanh': 2}[mode]"), "mode='relu'", id="looked up"),
        pytest.param(
            "def half(x):\n    return x / 2\n\n\ndef other(init: Callable = half): ...\n\n"
            + model("init: Callable", before="init(1.0) + 0.5"),
            "init=module.half",
            id="a function by the default of its name",
        ),
        pytest.param(
            model("block: type[Block]", layer="block(dim, key=k)"), "block=module.Block", id="a class as an argument"
        ),
        pytest.param(
            "class Other(Block): ...\n\n" + model("first: list[Block | Other]", before="first[0](jnp.ones(64))"),
            "first=[module.Block(dim=dim, key=k) for k",
            id="a list of modules of several classes",
        ),
        pytest.param(
            "@dataclasses.dataclass\nclass Stage:\n    dim: int\n\n"
            + model("stages: Sequence[Stage]", before="dim = stages[1].dim"),
            "stages=[module.Stage(dim=dim)] * depth",
            id="a list of configurations",
        ),
        pytest.param(
            "class Base(eqx.Module):\n    @eqx.filter_jit\n    def __call__(self, x): ...\n\n"
            "class AbstractNorm(eqx.Module):\n    size: eqx.AbstractVar[int]\n\n"
            "class Norm(AbstractNorm):\n    size: int\n\n" + model("norm: AbstractNorm", before="norm.size + 1"),
            "norm=module.Norm(size=",
            id="a module of an abstract class",
        ),
        pytest.param(
            model("config", before="dim, self.name = config.n_embd, config.norm_eps").replace(
                "layers: list", "layers: list\n    name: float"
            ),
            "config=types.SimpleNamespace(n_embd=",
            id="a configuration by what is read of it",
        ),
        pytest.param(
            model("first_k", before="self.layers = [i < first_k for i in range(depth)]"), "first_k=1,", id="a number"
        ),
        pytest.param(
            model("widths", before="dim = widths[0] + 0 * sum(w for w in widths)"),
            "] * depth,",
            id="a list by what indexes it",
        ),
    ],
)
def test_a_value_for_a_parameter(source: str, written: str) -> None:
    assert written in case_text(source)


def test_a_function_of_the_file_that_builds_the_model() -> None:
    source = model("plan", before="dim, depth = plan['dim'], plan['depth']").replace("dim: int, depth: int, ", "")
    source += "\n\ndef tiny(key):\n    return Model({'dim': 8, 'depth': 3}, key=key), None\n"
    answer = answer_for(source.replace(", None", ""))
    assert answer.case is not None and "module.tiny(key=jax.random.key(0))" in answer.case.text


NORM = """
class Model(eqx.Module):
    layers: list[eqx.nn.BatchNorm]

    def __init__(self, dim: int, axis_name: str, *, key: PRNGKeyArray):
        self.layers = [eqx.nn.BatchNorm(dim, axis_name, mode="ema") for _ in range(4)]

    def __call__(self, x, state):
        for layer in self.layers:
            x, state = layer(x, state)
        return x, state
"""


def test_a_norm_over_the_batch_is_mapped() -> None:
    text = case_text(NORM)
    assert 'eqx.filter_vmap(model, axis_name="batch", in_axes=(0, None), out_axes=(0, None))' in text
    assert "axis_name='batch'" in text.replace('"', "'") and "] * batch)" in text


def test_the_first_convolution_says_what_it_takes() -> None:
    call = LOOP.replace("for layer", "x = self.stem(x).mean((1, 2))\n        for layer").replace("x):", "x):")
    source = model("width: int", before="self.stem = eqx.nn.Conv2d(7, 64, 3, key=key)", call=call)
    assert "(7, size, size)" in case_text(source.replace("layers: list", "layers: list\n    stem: eqx.nn.Conv2d"))


def test_an_error_says_the_width() -> None:
    call = LOOP.replace(
        "for layer", "assert x.size == 37, 'expected 37 numbers'\n        x = x[0] * jnp.ones(64)\n        for layer"
    )
    assert "37" in case_text(model("width: int", call=call))


def test_an_error_says_how_many_members_an_ensemble_has() -> None:
    call = "\n    def __call__(self, xs):\n        return jax.vmap(lambda k, x: k * x)(jnp.arange(9.0), xs)\n"
    assert "length=9," in case_text(model("width: int", call=call))


def test_one_reason_is_given() -> None:
    source = model("thing: 'Thing'") + "\n\nclass Head(Model):\n    ...\n"
    (reason,) = answer_for(source, others=True).reasons
    assert reason.count("write a case") == 1 and "parameter `thing` of Model" in reason


def test_the_layers_of_a_sequential_run_where_they_are_written() -> None:
    source = model(
        "width: int", before="self.layers = None", call=LOOP.replace("in self.layers", "in self.layers.layers")
    )
    source = source.replace("[Block(dim, key=k)", "eqx.nn.Sequential([Block(dim, key=k)").replace("depth)]", "depth)])")
    answer = answer_for(source, spans=(line_of(source, "eqx.nn.Sequential("),))
    assert answer.case is not None


def test_a_state_that_the_call_may_do_without_is_given_where_the_model_has_one() -> None:
    source = NORM.replace("x, state):", "x, state: eqx.nn.State | None = None):\n        assert state is not None")
    assert "return eqx.filter_vmap(model, axis_name" in case_text(source) and "(x, state)" in case_text(source)


def test_a_function_that_answers_the_model_and_its_state() -> None:
    source = NORM.replace("dim: int, axis_name: str, *, key: PRNGKeyArray", "plan, axis_name").replace(
        "(dim, axis", "(plan['dim'], axis"
    )
    source += "\n\ndef tiny():\n    return eqx.nn.make_with_state(Model)({'dim': 8}, 'batch')\n"
    source = source.replace("return eqx.nn.make", "model, state = eqx.nn.make") + "    return model, state\n"
    assert "model, state = module.tiny()" in case_text(source)


def test_an_error_says_the_length() -> None:
    call = LOOP.replace("x):", "tokens):").replace(
        "for layer", "x = (jnp.zeros((37, 64)) + tokens[:, None])[0]\n        for layer"
    )
    text = case_text(model("width: int", call=call))
    assert "length=37,  # as long as an error says" in text
