"""From a class to a case: each rule by what it writes, and each refusal by its reason."""

import pytest

from tests.propose.helpers import answer_for, case_text, line_of

LOOP = """
    def __call__(self, x: Float[Array, "dim"]) -> Float[Array, "dim"]:
        for layer in self.layers:
            x = layer(x)
        return x
"""


def model(fields: str, init: str, call: str = LOOP) -> str:
    """A model of four Blocks with more fields, another constructor, or another call."""
    return f"class Model(eqx.Module):\n    layers: list[Block]\n    {fields}\n\n    {init}\n{call}"


def of_parameter(parameter: str) -> str:
    """A model whose constructor has one more parameter, called `p` unless it says otherwise."""
    name = parameter.partition(":")[0].partition("=")[0].strip()
    return model(
        "extra: Any = eqx.field(static=True)",
        f"def __init__(self, dim: int, depth: int, {parameter}, *, key: PRNGKeyArray):\n"
        f"        self.extra = {name}\n"
        "        self.layers = [Block(dim, key=k) for k in jax.random.split(key, depth)]",
    )


class TestConstructor:
    @pytest.mark.parametrize(
        ("parameter", "written"),
        [
            pytest.param("num_heads: int", "num_heads=heads,", id="a size of the vocabulary"),
            pytest.param("head_dim: int", "head_dim=dim // heads,", id="the width of a head divides that of the model"),
            pytest.param("order: int", "order=2,  # a guess", id="a number nobody knows"),
            pytest.param("rate: float", "rate=0.1,", id="a rate"),
            pytest.param("warmth: float", "warmth=1.0,  # a guess", id="a float nobody knows"),
            pytest.param("use_bias: bool", "use_bias=True,", id="a flag that switches on"),
            pytest.param("shared: bool", "shared=False,", id="a flag"),
            pytest.param('norm: Literal["pre", "post"]', "norm='pre',  # the first of 'pre', 'post'", id="a choice"),
            pytest.param("activation: Callable", "activation=jax.nn.gelu,", id="an activation"),
            pytest.param("act_fn", "act_fn=jax.nn.gelu,", id="an activation without type"),
            pytest.param("dtype: Any", "dtype=jnp.float32,", id="a dtype"),
            pytest.param("other: Optional[dict]", "other=None,  # it may be None", id="what may be None"),
            pytest.param("widths: tuple[int, ...]", "widths=(width,) * depth,", id="a tuple of sizes"),
            pytest.param("widths: Sequence[int | tuple[int, int]]", "widths=[width] * depth,", id="a list of a union"),
            pytest.param("modes: tuple[int, ...]", "modes=(modes,),", id="one axis"),
            pytest.param("strides: tuple[int, int]", "strides=(groups, groups),", id="a pair"),
            pytest.param("num_heads", "num_heads=heads,", id="a size without type"),
            pytest.param("vocab_size: 'Annotated[int, 1]'", "vocab_size=vocab,", id="a type that cannot be evaluated"),
        ],
    )
    def test_a_parameter(self, parameter: str, written: str) -> None:
        assert written in case_text(of_parameter(parameter))

    @pytest.mark.parametrize(
        ("parameter", "reason"),
        [
            pytest.param(
                "tokenizer: 'Tokenizer'",
                "parameter `tokenizer` of Model has no default and type Tokenizer is not known",
                id="a type",
            ),
            pytest.param("thing", "parameter `thing` of Model has no default and no type that says more", id="no type"),
            pytest.param(
                "table: Array", "parameter `table` has no default and its type does not say which shape", id="an array"
            ),
            pytest.param(
                "name: str", "parameter `name` of Model has no default and type str is not known", id="a text"
            ),
            pytest.param(
                "norm: Callable",
                "parameter `norm` of Model has no default and type Callable is not known",
                id="a function",
            ),
            pytest.param("d: dict[str, int]", "type dict[str, int] is not known", id="a dict"),
        ],
    )
    def test_a_parameter_that_stays_unknown(self, parameter: str, reason: str) -> None:
        answer = answer_for(of_parameter(parameter))
        assert answer.case is None
        assert answer.reasons[0].startswith("could not build Model: ") and answer.reasons[0].endswith("; write a case")
        assert reason in answer.reasons[0]

    def test_small_sizes_take_the_place_of_defaults(self) -> None:
        text = case_text(of_parameter("vocab_size: int = 50_000"))
        assert "vocab_size=vocab,  # 50000 by default" in text

    def test_a_default_that_is_no_size_stays(self) -> None:
        text = case_text(of_parameter("kernel_size: int = 5, name: str = 'm', order: int = 7"))
        assert "kernel" not in text and "name" not in text and "order" not in text

    def test_defaults_come_back_where_small_sizes_do_not_build(self) -> None:
        source = model(
            "",
            "def __init__(self, dim: int = 12, depth: int = 2, *, key: PRNGKeyArray):\n"
            "        assert dim == 12\n"
            "        self.layers = [Block(dim, key=k) for k in jax.random.split(key, depth)]",
        )
        text = case_text(source)
        assert "depth=depth,  # 2 by default" in text and "dim=12,  # as wide as an array of the model" in text

    def test_widths_are_equal_where_different_ones_do_not_build(self) -> None:
        source = model(
            "",
            "def __init__(self, in_size: int, width: int, depth: int, *, key: PRNGKeyArray):\n"
            "        assert in_size == width\n"
            "        self.layers = [Block(width, key=k) for k in jax.random.split(key, depth)]",
        )
        assert "in_size=dim, width=dim" in case_text(source)

    def test_a_list_of_layers(self) -> None:
        text = case_text(f"class Model(eqx.Module):\n    layers: list[Block]\n{LOOP}")
        assert "layers=[module.Block(dim=dim, key=k) for k in jax.random.split(jax.random.key(1), depth)]" in text


class TestConfig:
    INIT = (
        "def __init__(self, {}, *, key: PRNGKeyArray):\n"
        "        self.layers = [Block(config.n_embd, key=k) for k in jax.random.split(key, config.n_layer)]"
    )
    FIELDS = "\n    n_embd: int = 768\n    n_layer: int = 12\n    name: str = 'gpt'\n\n"

    @pytest.mark.parametrize(
        "head",
        [
            "@dataclasses.dataclass\nclass Config:",
            "@dataclasses.dataclass(frozen=True, kw_only=True)\nclass Config:",
            "class Config(NamedTuple):",
            "class Config(eqx.Module):",
        ],
    )
    def test_its_required_fields_and_sizes(self, head: str) -> None:
        text = case_text(head + self.FIELDS + model("", self.INIT.format("config: Config")))
        assert "config=module.Config(\n" in text
        assert "n_embd=dim,  # 768 by default" in text and "n_layer=depth,  # 12 by default" in text
        assert "name" not in text

    def test_without_a_type_it_is_the_only_one_in_the_file(self) -> None:
        source = "@dataclasses.dataclass\nclass Hyper:" + self.FIELDS + model("", self.INIT.format("config"))
        assert "config=module.Hyper(" in case_text(source)

    def test_an_instance_as_default_is_made_smaller(self) -> None:
        source = "@dataclasses.dataclass(frozen=True)\nclass Config:" + self.FIELDS
        assert "config=module.Config(" in case_text(source + model("", self.INIT.format("config: Config = Config()")))

    def test_a_field_that_stays_unknown_is_named(self) -> None:
        source = "@dataclasses.dataclass\nclass Config:\n    tokenizer: 'Tokenizer'\n\n"
        (reason,) = answer_for(source + model("", self.INIT.format("config: Config"))).reasons
        assert "parameter `tokenizer` of Config has no default and type Tokenizer is not known" in reason

    def test_an_enumeration(self) -> None:
        source = "class Norm(enum.Enum):\n    LAYER = 1\n    RMS = 2\n\n" + of_parameter("norm: Norm")
        assert "norm=module.Norm.LAYER,  # the first of its kind" in case_text(source)

    def test_what_is_built_from_itself_is_given_up(self) -> None:
        (reason,) = answer_for("class Model(eqx.Module):\n    inner: 'Model'\n\n    def __call__(self, x): ...").reasons
        assert "Model is built from Model" in reason


INIT = (
    "def __init__(self, dim: int, depth: int, *, key: PRNGKeyArray):\n"
    "        self.layers = [Block(dim, key=k) for k in jax.random.split(key, depth)]"
)


def called(signature: str, body: str) -> str:
    """A model whose call has this signature, and does `body` before the loop."""
    call = (
        f"\n    def __call__(self, {signature}):\n        {body}\n"
        "        for layer in self.layers:\n            x = layer(x)\n        return x\n"
    )
    return model("", INIT, call)


class TestCall:
    @pytest.mark.parametrize(
        ("signature", "body", "written"),
        [
            pytest.param(
                'x: Float[Array, "dim"]', "", "x = jax.random.normal(jax.random.key(2), (dim,))", id="annotated"
            ),
            pytest.param("x", "", "(dim,))", id="one vector"),
            pytest.param("x", "x = x.sum(axis=0)", "(length, dim))", id="a sequence"),
            pytest.param("x: jax.Array", "x = x.sum(axis=(0, 1))", "(batch, length, dim))", id="a batch"),
            pytest.param('x: Float[Array, "*batch dim"]', "x = x.sum(axis=0)", "(length, dim))", id="any dimensions"),
            pytest.param(
                "tokens",
                "x = jnp.zeros(tokens.shape[0])[:1] + jnp.zeros(64)",
                "tokens = jax.random.randint",
                id="tokens",
            ),
            pytest.param(
                'x: Float[Array, "dim"], t: Float[Array, ""]', "x = x * t", "t = jnp.array(0.5)", id="a scalar"
            ),
            pytest.param(
                'x: Float[Array, "s dim"], mask: Bool[Array, "s s"]',
                "x = (mask @ x)[0]",
                "mask = jnp.ones((length, length), dtype=bool)",
                id="one name, one size",
            ),
            pytest.param(
                'x: Float[Array, "dim"], *, key: PRNGKeyArray', "jax.random.split(key)", '{"key": key}', id="a key"
            ),
            pytest.param("x, inference: bool", "x = x if inference else 0 * x", "inference = False", id="a flag"),
            pytest.param("x, mask=None", "", "return model, (x,)", id="a default stays"),
        ],
    )
    def test_an_argument(self, signature: str, body: str, written: str) -> None:
        assert written in case_text(called(signature, body))

    def test_a_width_that_only_the_arrays_show(self) -> None:
        source = model("", "def __init__(self, *, key):\n        self.layers = [Block(7, key=key)] * 4", LOOP)
        assert "dim=7,  # as wide as an array of the model" in case_text(source)

    def test_a_key_that_may_be_none_is_swept(self) -> None:
        source = called('x: Float[Array, "dim"], *, key: PRNGKeyArray | None = None', "")
        text = case_text(source)
        assert 'model_case.sweep = [{"key": None}]' in text and "model = eqx.nn.inference_mode(model)" in text

    def test_a_key_that_must_be_given_is_not(self) -> None:
        source = called('x: Float[Array, "dim"], *, key: PRNGKeyArray | None = None', "jax.random.split(key)")
        assert "None" not in case_text(source)

    def test_lengths_are_swept_where_they_may_change(self) -> None:
        assert 'sweep = [{"length": 5}]' not in case_text(called('x: Float[Array, "s dim"]', "x = x[0]"))
        assert 'sweep = [{"length": 4}]' in case_text(called('x: Float[Array, "s dim"]', "x = x[0]"))
        assert "sweep" not in case_text(called('x: Float[Array, "s dim"]', "assert len(x) == 16; x = x[0]"))

    def test_state_comes_from_make_with_state(self) -> None:
        source = model(
            "norm: eqx.nn.BatchNorm",
            "def __init__(self, dim: int, depth: int, *, key: PRNGKeyArray):\n"
            "        self.norm = eqx.nn.StateIndex(jnp.zeros(()))\n"
            "        self.layers = [Block(dim, key=k) for k in jax.random.split(key, depth)]",
            "\n    def __call__(self, x, state):\n        for layer in self.layers:\n            x = layer(x)\n"
            "        return x, state.set(self.norm, state.get(self.norm) + 1)\n",
        ).replace("eqx.nn.BatchNorm", "eqx.nn.StateIndex")
        text = case_text(source)
        assert "model, state = eqx.nn.make_with_state(module.Model)(" in text and "return model, (x, state)" in text

    def test_an_answer_without_floats_is_no_case(self) -> None:
        answer = answer_for(called("x", "return 3"))
        assert answer.case is None and "answers no array of floats" in answer.reasons[0]

    def test_a_call_that_misses_the_loop_is_no_case(self) -> None:
        source = called("x", "return x")
        answer = answer_for(source, spans=(line_of(source, "            x = layer(x)"),))
        assert answer.case is None and "the call does not run the loop" in answer.reasons[0]
        assert answer_for(source).case is not None

    def test_each_candidate_is_named_with_its_error(self) -> None:
        (reason,) = answer_for(called("x: Float[Array, 'dim']", "raise ValueError('never')")).reasons
        assert "Model was built, but no call of Model was found that traces; write a case" in reason
        assert "x float (dim,): ValueError at" in reason and "never" in reason

    @pytest.mark.parametrize(
        ("signature", "body", "written"),
        [
            ('x: Float[Array, "seq embed_dim"]', "x = x[0]", "(length, dim))"),
            ('x: Float[Array, "c h w"]', "assert x.shape == (3, 16, 16); x = jnp.zeros(64)", "(channels, size, size))"),
            ('x: Float[Array, "in_c"]', "", "(dim,))"),
        ],
    )
    def test_a_dimension_by_its_role(self, signature: str, body: str, written: str) -> None:
        assert written in case_text(called(signature, body))

    def test_a_loop_that_is_not_run_is_noted(self) -> None:
        source = called(
            "x", "x = x if True else [layer(x) for layer in self.layers][-1]\n        if x is None:\n            x = 1"
        )
        spans = (line_of(source, "            x = 1"), line_of(source, "            x = layer(x)"))
        answer = answer_for(source, spans=spans)
        assert answer.case is not None
        assert f"It does not run the loop around line {spans[0][0]}." in answer.case.text

    def test_errors_of_one_kind_are_told_once(self) -> None:
        (reason,) = answer_for(called("x", "raise ValueError(str(x.shape))")).reasons
        assert len(reason.splitlines()) <= 8 and "more candidates" in reason


class TestWhichClass:
    METHOD = model("", INIT, LOOP.replace("__call__", "encode"))

    def test_a_method_that_holds_the_loop_is_called(self) -> None:
        answer = answer_for(self.METHOD, methods=("encode",), spans=(line_of(self.METHOD, "            x = layer(x)"),))
        assert answer.case is not None and "return model.encode, (x,)" in answer.case.text

    def test_another_class_that_runs_the_loop(self) -> None:
        source = self.METHOD + (
            "\n\nclass Head(eqx.Module):\n    inner: Model\n\n"
            "    def __call__(self, x: Float[Array, 'dim']):\n        return self.inner.encode(x)\n"
        )
        span = line_of(source, "            x = layer(x)")
        assert answer_for(source, None, spans=(span,)).case is None
        answer = answer_for(source, None, spans=(span,), others=True)
        assert answer.case is not None and answer.case.cls == "Head"

    def test_what_is_no_module_of_equinox(self) -> None:
        (reason,) = answer_for("class Model:\n    def __call__(self, x): ...").reasons
        assert "Model is not an equinox.Module" in reason

    def test_a_class_that_cannot_be_found(self) -> None:
        (reason,) = answer_for("", "Gone").reasons
        assert "Gone is not a class of the module" in reason


class TestMisbehaviour:
    @pytest.mark.parametrize(
        ("statement", "said"),
        [
            ("raise SystemExit(3)", "it calls sys.exit"),
            ("raise KeyboardInterrupt", "KeyboardInterrupt"),
            ("raise ValueError('x' * 999)", "..."),
            ("1 / 0", "ZeroDivisionError"),
        ],
    )
    def test_a_constructor_that_ends_is_a_reason(self, statement: str, said: str) -> None:
        source = model("", f"def __init__(self, *, key):\n        {statement}")
        (reason,) = answer_for(source).reasons
        assert reason.startswith("could not build Model: ") and said in reason and len(reason) < 300

    def test_nothing_new_is_tried_once_time_is_up(self) -> None:
        source = called("x", "import builtins; builtins.tried = getattr(builtins, 'tried', 0) + 1; raise ValueError")
        import builtins

        builtins.tried = 0  # type: ignore[attr-defined]
        assert answer_for(source, seconds=0.0).case is None
        assert builtins.tried == 1  # type: ignore[attr-defined]
