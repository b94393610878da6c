"""`python -m tests.benchmarks.constructor`: the jitted constructor of the GPT of `fixtures/`, as a list and as stacks.

For each number of layers the lines of StableHLO, and the seconds that tracing and compiling take: of the list, of that
list stacked when it is built (`ArrayStacked.of`), and of what the rewrite makes of it (`ArrayStacked.init`), one trace;
and whether the parameters of that are proved to be the list's, as functions of the key.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import equinox as eqx
import jax

from scanify.library import prove_equal
from scanify.verify.equality import Equality
from tests.fixture_helpers import Texts, fixture, replaced, thunk, write

BUILT = (
    'ArrayStacked.init(config.n_layer, Block, gradient_checkpointing="nested")(\n'
    "            config, key=jax.random.split(blocks_key, config.n_layer)\n        )"
)
OF = "ArrayStacked.of([Block(config, key=k) for k in jax.random.split(blocks_key, config.n_layer)])"
CASE = """
def constructor(module):
    sizes = dict(vocab_size=64, block_size=16, n_head=2, n_embd=16)
    return lambda key, layers: module.GPT(module.GPTConfig(n_layer=layers, **sizes), key=key)
"""


def versions() -> Mapping[str, Texts]:
    """The texts of the model: as people wrote it, and stacked in two ways."""
    gpt = fixture("gpt")
    return {"list": gpt.before, "of": replaced(gpt.after, gpt.target, (BUILT, OF)), "init": gpt.after}


@contextmanager
def made(texts: Texts) -> Iterator[Callable[[Any, int], Any]]:
    """The model of a version, of a key and a number of layers."""
    with tempfile.TemporaryDirectory() as name:
        folder = write({**texts, "case.py": CASE}, Path(name))
        yield thunk(folder, fixture("gpt").target, folder / "case.py", "constructor")()


def constructor_proved(layers: int, rewritten: Texts) -> Equality:
    """Whether the rewritten constructor gives the parameters of the list, as functions of the key."""
    with made(fixture("gpt").before) as before, made(rewritten) as after:

        def parameters(make: Callable[[Any, int], Any]) -> Callable[[Any], Any]:
            def arrays(key: Any) -> Any:
                model = make(key, layers)
                rest = eqx.tree_at(lambda model: model.blocks, model, None)
                return [jax.tree.leaves(eqx.filter(part, eqx.is_array)) for part in (rest, *model.blocks)]

            return arrays

        return prove_equal(parameters(before), parameters(after), jax.eval_shape(jax.random.key, 0), up_to=0)


def measured(texts: Texts, layers: int) -> tuple[int, float, float]:
    """Lines of StableHLO, and seconds of the trace and of the compilation."""
    with made(texts) as make:

        def parameters(key: Any) -> Any:
            return eqx.filter(make(key, layers), eqx.is_array)

        begun = time.perf_counter()
        lowered = jax.jit(parameters).lower(jax.random.key(0))
        traced = time.perf_counter()
        lines = len(lowered.as_text().splitlines())
        compiling = time.perf_counter()
        lowered.compile()
        return lines, traced - begun, time.perf_counter() - compiling


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.constructor", description=__doc__)
    parser.add_argument("--layers", default="4,12", help="numbers of layers, with commas between (48 takes minutes)")
    counts = [int(each) for each in parser.parse_args(given).layers.split(",")]
    print("| layers | constructor | StableHLO lines | trace, s | compile, s |\n|---|---|---|---|---|")
    for count in counts:
        for name, texts in versions().items():
            lines, trace, compilation = measured(texts, count)
            print(f"| {count} | {name} | {lines:,} | {trace:.2f} | {compilation:.2f} |", flush=True)
    print()
    for count in counts:
        found = constructor_proved(count, versions()["init"])
        what = f"{found.verdict.value} {found.reason}".strip()
        print(f"At {count} layers the parameters of `init` are those of `list`: {what}.", flush=True)


if __name__ == "__main__":
    main()
