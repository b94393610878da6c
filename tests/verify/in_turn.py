"""Compares pairs of versions as a verification does, each in a process that has imported jax and nothing else.

A script, so that jax is imported once for all of them: `python in_turn.py FOLDER...`, where each folder has `one.py`,
`two.py` and `cases.py` with a function `case`. It writes what the comparison answers to `answer.json` beside them.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from scanify.verify.cases.case import CaseSpec
from scanify.verify.children.codec import from_json, to_json
from scanify.verify.request import Change, Request, Response
from scanify.verify.verdict import CaseResult, Status


def request(folder: Path) -> Request:
    paths = folder / "one.py", folder / "two.py"
    return Request(
        case=CaseSpec(folder / "cases.py", "case", "cases.py:case"),
        target=paths[0],
        rewritten_target=paths[1],
        changes=tuple(Change(path, path.read_bytes(), path.read_bytes()) for path in paths),
        policies=(None,),
        requested=None,
        abstract=False,
        measure=False,
        directory=folder,
    )


def compared(root: Path, pairs: dict[str, tuple[str, str, str]]) -> dict[str, Response]:
    """What each pair of versions, given with its case, is found to be."""
    folders = {name: root / str(at) for at, name in enumerate(pairs)}
    for name, (one, two, cases) in pairs.items():
        folders[name].mkdir()
        for file, text in (("one.py", one), ("two.py", two), ("cases.py", cases)):
            (folders[name] / file).write_text(text)
    command = [sys.executable, "-m", "tests.verify.in_turn", *map(str, folders.values())]
    subprocess.run(command, check=True, timeout=400)
    return {name: from_json(Response, json.loads((path / "answer.json").read_text())) for name, path in folders.items()}


def proved(result: CaseResult) -> bool:
    """Whether all that was compared is proved."""
    once = (result.parameters, result.tangents, result.batched, result.keys)
    each = [*(one for one in once if one), *(v for p in result.policies for v in (p.outputs, p.gradients))]
    return result.good and bool(result.policies) and all(verdict.status is Status.PROVED for verdict in each)


def _main() -> None:
    import equinox  # noqa: F401
    import jax  # noqa: F401

    import scanify.verify.compare.compare  # noqa: F401
    from scanify.verify.children.child import respond

    waiting = []
    for folder in map(Path, sys.argv[1:]):
        if len(waiting) == 2:
            os.waitpid(waiting.pop(0), 0)
        child = os.fork()
        if child == 0:
            try:
                lifeline, _ = os.pipe()
                answer = respond(request(folder), lifeline)
                (folder / "answer.json").write_text(json.dumps(to_json(answer)))
            finally:
                os._exit(0)
        waiting.append(child)
    for child in waiting:
        os.waitpid(child, 0)


if __name__ == "__main__":
    _main()
