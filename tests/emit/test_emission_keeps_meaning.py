"""Random loops in random styles do after emission what they did before. The plain Python loop is the oracle."""

import runpy
import sys
import types
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

FAKE = runpy.run_path(str(Path(__file__).with_name("fake_nn.py")))
DEPTH = 3


def run(text: str, modules: dict[str, types.ModuleType]) -> object:
    """Build the model of a text and call it. Layers answer in text, so the answer shows every call and its order."""
    scope: dict[str, object] = {"Block": FAKE["Block"]}
    before = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        exec(compile(text, "model.py", "exec", dont_inherit=True), scope)
        model = scope["Model"]()  # type: ignore[operator]
        return model("x0", "mask", ["k0", "k1", "k2"], [("a0", "b0"), ("a1", "b1"), ("a2", "b2")])
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def fake_modules() -> dict[str, types.ModuleType]:
    module = types.ModuleType("scanify.nn")
    module.ArrayStacked = FAKE["ArrayStacked"]  # type: ignore[attr-defined]
    return {"scanify.nn": module}


comment = st.sampled_from(["", "", "", "  # note", "  # note", "  # noqa: E501", "  #! odd", "  # 'quoted\" ("])
own_line = st.sampled_from(["", "", "", "# about the next line", "#", "# note"])
CALLS = ["layer(x)", "layer.forward(x)", "layer(x, mask)", "layer(x, k)", "layer(x, mask, k)", "layer(x, m=mask, k=k)"]
CALLS += ["layer(x, *[mask])", "layer(x, k, k=k)", "layer(x, a)", "layer(x, x)", "layer(x, (mask, [1]))"]
CALLS += [
    "layer(x, 'a  # no comment')",
    "layer.forward(x, k=k)",
    "layer(x, k + 'z')",
    "layer(x, lambda_=(lambda y: y)(mask))",
]
CALLS += [
    "layer(\n              x,  # the carry\n      mask\n   )",
    'layer(x, """two\n  lines""")',
    "layer(x, mask if mask else k)",
]
LONG = "layer(x, 'a very long argument that goes on and on', 'and another one, almost as long')"
FIRST = [
    "h = mask + str(x)",
    "x = x + '.'",
    "h = [x for x in 'ab'][0]",
    "h = k if len(k) else a",
    "h: str = mask",
    "pass",
]
FIRST += [
    "if mask:\n{i}    h = '1'  # in\n{i}else:\n{i}    h = '2'",
    "h = (\n  mask +  # why\n  '+'\n)",
    'h = """a\n# no comment\n"""',
]
HEADERS = {
    0: [
        "for layer in self.layers:",
        "for layer in self.layers :",
        "for  layer  in (self.layers):",
        "for layer in \\\n      self.layers:",
    ],
    1: ["for layer, k in zip(self.layers, keys):", "for (layer, k) in zip(self.layers, keys[:]):"],
    2: [
        "for layer, k, (a, b) in zip(self.layers, keys, pairs):",
        "for layer, k, (a, b) in zip(  # three\n        self.layers,\n        [  # copy\n  *keys\n  ],\n  pairs,\n ):",
    ],
}


@st.composite
def models(draw: st.DrawFn) -> tuple[str, str, str]:
    """A model's text, its carry, and how it is stacked."""
    unit = draw(st.sampled_from(["    ", "  ", "\t"]))
    depth = draw(st.sampled_from([2, 3]))
    indent, deeper = unit * depth, unit * (depth + 1)
    count = draw(st.sampled_from([0, 1, 2]))
    carry = draw(st.sampled_from(["x", "x", "x, s"]))
    header = draw(st.sampled_from(HEADERS[count]))
    call = draw(st.sampled_from([*CALLS, LONG]))
    if count < 2:
        call = call.replace(", a)", ", mask)")
    if count < 1:
        call = call.replace("k=k", "k=mask").replace(" k)", " mask)").replace(", k,", ", 0,").replace("k + 'z'", "mask")
        call = call.replace("else k", "else 0")
    last = f"x = {call}" if carry == "x" else f"x, s = {call}, str(s) + 'k'"
    inline = draw(st.booleans()) and "\n" not in header and "\n" not in call
    lines = [f"{draw(own_line)}", header + ("" if inline else draw(comment))]
    if inline:
        lines[-1] += f" {last}" + draw(st.sampled_from(["", "; x = x + '!'"])) + draw(comment)
    else:
        body = []
        for statement in draw(st.lists(st.sampled_from(FIRST), max_size=2)):
            if not (count == 0 and " k " in statement) and not (count < 2 and " a" in statement.split("=")[-1][-3:]):
                body += [draw(own_line), statement.replace("{i}", deeper)]
        body += [draw(own_line), last, *draw(st.sampled_from([[], ["x = x + '!'"], ["if s: x = x + s"]]))]
        body += draw(st.sampled_from([[], [], ["# below"], ["", "# far below"]]))
        lines += [deeper + line + (draw(comment) if line[:1] not in ("#", "") else "") if line else "" for line in body]
        lines = [line for line in lines if line or draw(st.booleans())]
    start = next(i for i, line in enumerate(lines) if line.startswith("for"))
    lines[:start] = [indent + line if line else "" for line in lines[:start]]
    lines[start] = indent + lines[start]
    head = ["class Model:", f"{unit}layers: 'list[Block]'", f"{unit}def __init__(self):{draw(comment)}"]
    build = draw(
        st.sampled_from(
            [
                ["self.layers = [Block(i) for i in range(3)]"],
                ["self.layers = Block(0), Block(1), Block(2)"],
                ["self.layers = (Block(i) for i in range(3))"],
                ["self.layers = [", "  Block(0),  # first", "", "  *[Block(1), Block(2)],", "]"],
                ["self.layers = []", "for i in range(3):", f"{unit}self.layers.append(Block(i))  # each"],
            ]
        )
    )
    stack = "init" if "(Block(i) for" in build[0] else draw(st.sampled_from(["init", "call"]))
    head += [f"{unit}{unit}{line}" if line else "" for line in build]
    before = [f"{unit}def __call__(self, x, mask, keys, pairs):{draw(comment)}", f"{unit}{unit}s = 's'{draw(comment)}"]
    before += [] if depth == 2 else [f"{unit}{unit}if x:{draw(comment)}"]
    imports = draw(
        st.sampled_from([[], ["import math  # m"], ['"""Doc."""', "", "# c", "import os", "from a_b import c"][:3]])
    )
    newline = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    text = "\n".join([*imports, *head, "", *before, *lines, f"{unit}{unit}return x, s"])
    return (text + draw(st.sampled_from(["", "\n", "\n\n# end\n"]))).replace("\n", newline), carry, stack


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=models(), remat=st.sampled_from([None, "nested", "False"]))
def test_the_rewritten_model_does_what_the_loop_did(
    rewrite: Callable[..., str], case: tuple[str, str, str], remat: str | None
) -> None:
    text, carry, stack = case
    expected = run(text, fake_modules())
    new = rewrite(text, carry=carry, stack=stack, remat=remat, taken=("Model", "Block", "x", "s", "mask", "h"))
    assert new != text
    assert "self.layers.fold" in new or "ArrayStacked.of(" in new  # which may be wrapped behind the parenthesis
    assert run(new, fake_modules()) == expected


def test_the_oracle_sees_a_wrong_axis(rewrite: Callable[..., str]) -> None:
    text = "\n".join(
        [
            "class Model:",
            "    def __init__(self):",
            "        self.layers = [Block(i) for i in range(3)]",
            "    def __call__(self, x, mask, keys, pairs):",
            "        for layer, k in zip(self.layers, keys):",
            "            x = layer(x, mask, k)",
            "        return x",
        ]
    )
    new = rewrite(text)
    assert run(new, fake_modules()) == run(text, fake_modules()) == "L2(L1(L0(x0, mask, k0), mask, k1), mask, k2)"
    assert run(new.replace("(None, 0)", "(None, None)"), fake_modules()) != run(text, fake_modules())
    with pytest.raises(AssertionError, match="in_axes"):
        run(new.replace("(None, 0)", "(None,)"), fake_modules())
