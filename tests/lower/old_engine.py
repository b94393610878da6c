"""The lowering held against the engine that it takes the place of: each loop's carry, xs, shared names, ys and exits.

`python -m tests.lower.old_engine [--count N] [PATH ...]` lists the differences over the pages of the rules, the fixtures
and N random models, and over files that are given.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from scanify.analysis import analyse
from scanify.analysis.flow.shape import LoopShape, shape_of
from scanify.analysis.index import Module
from scanify.analysis.index.parse import Problem, parse
from scanify.analysis.lower.loop import Form, Loop, Walk
from scanify.analysis.lower.loops import loops_in
from scanify.analysis.plan import Plan, Refusal
from scanify.rules import pages_folder, parse_page
from scanify.source.file import Source
from tests.random_models import random_model

# Rules that syntax and dataflow decide alone.
DECIDED = frozenset(("SCN205", "SCN206", "SCN208", "SCN209", "SCN210", "SCN211", "SCN212", "SCN213"))


def differences(text: str, name: str) -> Iterator[str]:
    """What the two say otherwise of the loops of one file, a line each."""
    path = Path(name)
    tree = parse(text)
    if isinstance(tree, Problem):
        return
    module = Module(path, "model", Path(), False, text, tree)
    loops = {(loop.place.span.start, loop.form is Form.SEQUENTIAL): loop for loop in loops_in(module)}
    for decision in analyse([Source(path, text)]).loops:
        where = f"{name}:{decision.place.span.line}: "
        sequential = (isinstance(decision, Plan) and not decision.loops) or decision.container.endswith("([...])")
        loop = loops.get((decision.place.span.start, sequential)) or loops.get((decision.place.span.start, True))
        if loop is None:
            yield f"{where}not lowered ({_rule(decision)}, {decision.container})"
            continue
        if loop.form is Form.SEQUENTIAL:
            continue
        layer = _layer(loop, decision)
        if layer is None:
            yield f"{where}{decision.container} is walked by none of {[walk.text for walk in loop.walks]}"
            continue
        yield from (f"{where}{line}" for line in _compared(decision, shape_of(loop, layer)))


def _rule(decision: Plan | Refusal) -> str:
    return f"{decision.rule} {decision.reason}" if isinstance(decision, Refusal) else decision.rule


def _layer(loop: Loop, decision: Plan | Refusal) -> Walk | None:
    def texts(walk: Walk) -> tuple[str, ...]:
        return tuple(map(_plain, (walk.text, walk.counted, loop.module.code(walk.base), loop.module.code(walk.source))))

    named = [
        walk
        for walk in loop.walks
        if isinstance(decision, Plan) and _plain(loop.code(walk.target)) == _plain(decision.layer)
    ]
    found = [walk for walk in named or loop.walks if _plain(decision.container) in texts(walk)]
    return found[0] if found else None


def _plain(text: str) -> str:
    return "".join(text.split()).replace("'", '"')


def _compared(decision: Plan | Refusal, shape: LoopShape) -> Iterator[str]:
    if isinstance(decision, Refusal):
        rules = [problem.rule for problem in shape.problems]
        if decision.rule in DECIDED and decision.rule not in rules:
            yield f"{decision.rule} is gone ({decision.reason}), now {rules}"
        if rules and decision.rule in DECIDED and rules[0] != decision.rule:
            yield f"{decision.rule} ({decision.reason}) does not come first: {[(p.rule, p.reason) for p in shape.problems]}"
        if decision.rule not in ("SCN201", "SCN202", "SCN203", "SCN204", "SCN214"):
            return
    elif shape.problems:
        yield f"refused now: {[(problem.rule, problem.reason) for problem in shape.problems]}"
    pairs: list[tuple[str, object, object]] = [
        ("carry", decision.carry, shape.carry),
        (
            "xs",
            [(each.target, _plain(each.source)) for each in decision.xs],
            [(x.target, _plain(x.source)) for x in shape.xs],
        ),
        ("broadcast", sorted(decision.broadcast), sorted(shape.broadcast)),
        ("ys", decision.ys, shape.ys),
    ]
    if isinstance(decision, Plan):
        calls = [(each.method, each.arguments) if each is not None else None for each in (decision.call, shape.call)]
        pairs += [
            ("call", *calls),
            ("collections", decision.collections, shape.collections),
            ("exits", decision.exits, shape.exit_words),
            ("unset", decision.unset, shape.unset),
            ("ahead", decision.ahead, shape.loop.ahead),
            ("replaced", () if decision.folded else decision.replaced, () if decision.folded else shape.loop.replaced),
            ("numbers", _plain(decision.numbers or ""), _plain(shape.layer.numbers or "") if decision.numbers else ""),
            ("layer", _plain(decision.layer), _plain(shape.loop.code(shape.layer.target))),
        ]
        if decision.mapped is not None and shape.loop.element is not None:
            pairs.append(("element", decision.mapped.element, shape.loop.code(shape.loop.element)))
    yield from (f"{what}: {before} became {after}" for what, before, after in pairs if before != after)


def sources(count: int) -> Iterator[tuple[str, str]]:
    """The texts of the pages of the rules, of the fixtures, and of random models, each with a name."""
    for page in sorted(pages_folder().glob("*.md")):
        for number, example in enumerate(parse_page(page.read_text()).examples):
            for at, fence in enumerate(example.fences):
                yield fence.code, f"{page.stem}-{number}-{at}.py"
    for path in sorted(Path("fixtures").rglob("*.py")):
        yield path.read_text(), str(path)
    for seed in range(count):
        yield random_model(seed).text, f"random-{seed}.py"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("paths", nargs="*", type=Path)
    given = parser.parse_args()
    files = [file for path in given.paths for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
    every = ((file.read_text(), str(file)) for file in files) if files else sources(given.count)
    kinds: Counter[str] = Counter()
    for text, name in every:
        for line in differences(text, name):
            kinds[line.split(": ", 1)[1].split(" ")[0]] += 1
            print(line)
    print(dict(kinds))


if __name__ == "__main__":
    main()
