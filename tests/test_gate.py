"""The gate lets every loop over layers through, and keeps ordinary code away from the interpreter."""

import pytest

import scanify.analysis
from scanify.analysis import analyse
from scanify.analysis.index.parse import parse
from scanify.analysis.lower.candidates import may_hold_loop
from scanify.source.file import Source


@pytest.mark.parametrize(
    "text",
    [
        "for layer in layers:\n    x = layer(x)",
        "for layer, k in zip(layers, keys): x = layer(x, key=k)",
        "for layer in layers:\n    x = layer.attn(x)",
        "for layer in layers:\n    h = jax.vmap(layer.norm)(x)",
        "for layer in layers:\n    x = jax.checkpoint(layer)(x)",
        "for layer in layers:\n    x = apply(layer, x)",
        "for layer in layers:\n    x += layer.mlp(x)",
        "for layer in layers:\n    outs.append(layer(x))",
        "for i in range(3):\n    x = self.layers[i](x)",
        "for layer in layers:\n    x, state = layer.step(x, state)",
        "for layer in layers:\n    x: Array = layer.step(x)",
        "for layer in layers:\n    h = layer.attn(x)\n    x = x + h",
        "for layer in layers:\n    attn, mlp = layer.attn, layer.mlp\n    x = mlp(attn(x))",
        "while i < len(self.layers):\n    x = self.layers[i](x)\n    i += 1",
        "ys = [head(x) for head in heads]",
        "ys = [head.attend(x) for head, k in zip(self.heads, keys)]",
        "y = sum(jax.vmap(head)(x) for head in heads)",
        "y = sum(head.kl() for head in self.heads)",
        "ys = list(map(lambda head: head(x), heads))",
        "y = functools.reduce(lambda x, layer: layer(x), layers, x)",
        "y = reduce(self.step, layers, x)",
        "from functools import reduce as through\ny = through(lambda x, layer: step(x, layer), layers, x)",
        "def f[T](x: T):\n    for layer in layers:\n        x = layer(x)",
        "for x in\n",
    ],
    ids=lambda text: text.splitlines()[-1].strip(),
)
def test_what_may_be_a_loop_over_layers_passes(text):
    assert may_hold_loop(text, parse(text))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x = 1",
        "for line in lines:\n    print(line)",
        "for line in lines:\n    parts = line.split(',')",
        "for item in items:\n    total += 1",
        "for item in items:\n    total = total + price(item)",
        "for name in names:\n    out.append(name.strip())",
        "for f in files:\n    with open(f) as handle:\n        data = handle.read()",
        "before = [x for x in xs if f(x)]",
        "parts = [line.split(',') for line in lines]",
        "sizes = list(map(len, lines))",
        "sizes = list(map(lambda line: line.size, lines))",
        "total = reduce(lambda x, y: x * y, sizes, 1)",
        "parts = [line.split(',') for line in self.lines()]",
        "sizes = [layer.weight.shape for layer in self.layers]",
        "total = sum(head.count() for head in heads)",
        "# for layer in layers: layer(x)",
        "self.layers = eqx.nn.Sequential([Linear(k) for k in keys])",
    ],
)
def test_ordinary_code_does_not(text):
    assert not may_hold_loop(text, parse(text))


def test_files_that_the_gate_holds_back_are_not_decided_about(monkeypatch, tmp_path):
    def refuse(project, loop, *_):
        raise AssertionError("a loop is decided about")

    monkeypatch.setattr("scanify.analysis.decide.project.fact_of", refuse)
    text = "for line in lines:\n    print(line)\n"
    assert analyse([Source(tmp_path / "plain.py", text)]).loops == ()
    with pytest.raises(AssertionError, match="is decided about"):
        analyse([Source(tmp_path / "model.py", "for layer in layers:\n    x = layer(x)\n")])


def test_syntax_that_no_parser_knows_is_skipped_with_its_line(tmp_path):
    found = scanify.analysis.analyse([Source(tmp_path / "broken.py", "x = 1\nfor layer in:\n    pass\n")])
    assert len(found.skipped) == 1
    assert "line 2" in found.skipped[0].reason


def test_new_syntax_is_analysed_even_where_the_running_python_cannot_parse_it(tmp_path):
    text = (
        "import equinox as eqx\nimport jax\nclass B(eqx.Module):\n    def __call__(self, x):\n        return x\n"
        "type Pair[T] = tuple[T, T]\nclass M(eqx.Module):\n    def __init__(self, key):\n"
        "        self.layers = [B() for _ in range(3)]\n    def __call__[T](self, x: T) -> T:\n"
        "        for layer in self.layers:\n            x = layer(x)\n        return x\n"
    )
    assert len(analyse([Source(tmp_path / "new.py", text)]).loops) == 1
