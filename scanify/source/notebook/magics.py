"""Make IPython syntax (`%magic`, `!command`, `%%cell`, `name?`) readable for Python.

A replaced line ends with a comment that holds the original. At the margin, only the comment is left; in a block or an
assignment, `get_ipython()` replaces the magic, and nothing is known about its value. `%time` and similar magics run
Python, which is kept.
"""

import ast
import re
import warnings
from collections.abc import Iterator, Sequence

MARK = "#<magic>"
_CALL = "get_ipython()"

# Magics that run their line as Python, with the names of the notebook.
_TIMERS = re.compile(r"%(?:time|timeit|prun|memit)\b((?:[ \t]+-(?:[nrpls][ \t]*\w+|\w+))*)[ \t]+(?=\S)")
_PYTHON_CELLS = frozenset("capture memit prun time timeit".split())
# Magics that do not affect the names of the notebook.
_OTHER_CELLS = frozenset(
    "! bash cmd file html HTML javascript js latex markdown perl pypy python python2 python3 ruby script sh sql "
    "svg SVG sx system writefile".split()
)
_HARMLESS = frozenset(
    "aimport alias autoawait autocall automagic autoreload bookmark cat cd clear colors conda config cp dhist dirs env "
    "gui doctest_mode hist history jaxtyping.typechecker ldir less lf lk ll load_ext ls lsmagic lx magic mamba "
    "man matplotlib micromamba mkdir more mv notebook page pdb pdef pdoc pfile pinfo pinfo2 pip popd pprint "
    "precision psearch psource pushd pwd pycat quickref rehashx reload_ext rm rmdir save set_env sx system tb "
    "tensorboard unalias unload_ext uv wandb watermark who who_ls whos xmode".split()
)
_SUSPECT = re.compile(r"^[ \t]*[%!?]|=[ \t]*[%!]|\?", re.MULTILINE)
_TOKEN = re.compile(
    r"""(?P<long>\"{3}|'{3})|(?P<short>"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)|(?P<comment>\#[^\n]*)"""
    r"""|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<joined>\\\n)|(?P<end>\n)"""
    r"""|(?P<given>(?<![=!<>:+\-*/%&|^@])=[ \t]*(?=[%!]))|(?P<help>\?)""",
    re.DOTALL | re.VERBOSE,
)
_NAME = re.compile(r"(%{1,2})([\w.]+|!)")


def readable(lines: Sequence[str]) -> list[str]:
    """Return the lines of a cell as valid Python, one for one."""
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return list(lines)
    if lines[first].startswith("%%"):
        named = _NAME.match(lines[first])
        python = named is not None and named[2] in _PYTHON_CELLS
        rest = readable(lines[first + 1 :]) if python else [MARK + line for line in lines[first + 1 :]]
        return [*lines[:first], MARK + lines[first], *rest]
    text = "\n".join(lines)
    if _SUSPECT.search(text) is None:
        return list(lines)
    found = list(lines)
    for number, stop, instead in _magics(text, lines):
        found[number] = instead + MARK + lines[number]
        for further in range(number + 1, stop):
            found[further] = MARK + lines[further]
    return found


def original(line: str) -> str:
    """Return the original line of the notebook."""
    before, mark, after = line.partition(MARK)
    return after if mark else before


def unclear(line: str) -> str | None:
    """Return the magic in a line if its effect on the names of the notebook is unknown."""
    before, mark, after = line.partition(MARK)
    magic = after[len(before.removesuffix(_CALL)) :] if before.endswith(_CALL) else after
    named = _NAME.match(magic.strip()) if mark else None
    if named is None or (before.strip() and not before.endswith(_CALL)):
        return None
    known = _PYTHON_CELLS | _OTHER_CELLS if named[1] == "%%" else _HARMLESS
    return None if named[2] in known else magic.strip()


def _magics(text: str, lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the first line of each magic, the line after its last, and its replacement."""
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    number = 0
    while number < len(lines):
        line = lines[number]
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        if line[len(indent) : len(indent) + 1] in ("%", "!", "?"):
            stop = _continued(lines, number)
            yield number, stop, _statement(indent, line)
            number = stop
            continue
        stop, given, helped = _logical(text, starts, number)
        if given is not None:
            number = next(at for at, start in enumerate(starts) if start > given) - 1
            stop = _continued(lines, number)
            yield number, stop, text[starts[number] : given] + _CALL
        elif helped:
            yield number, stop, indent + _CALL if indent else ""
        number = stop


def _statement(indent: str, line: str) -> str:
    timer = _TIMERS.match(line.strip())
    if timer is not None and _parses(line.strip()[timer.end() :]):
        return f"{indent}{line.strip()[timer.end() :]}  "
    return indent + _CALL if indent else ""


def _parses(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return all(not hasattr(each, "body") for each in ast.parse(text).body)
    except (SyntaxError, ValueError):
        return False


def _continued(lines: Sequence[str], number: int) -> int:
    """Return the line after a magic, including lines continued by a backslash."""
    while lines[number].endswith("\\") and number + 1 < len(lines):
        number += 1
    return number + 1


def _logical(text: str, starts: Sequence[int], number: int) -> tuple[int, int | None, bool]:
    """Return the line after a statement, the place of a magic assigned in it, and whether it requests help."""
    at, depth, helped = starts[number], 0, False
    while (token := _TOKEN.search(text, at)) is not None:
        at = token.end()
        match token.lastgroup:
            case "long":
                close = re.compile(rf"(?:[^\\]|\\.)*?{token[0]}", re.DOTALL).match(text, at)
                at = close.end() if close is not None else len(text)
            case "open":
                depth += 1
            case "close":
                depth = max(depth - 1, 0)
            case "given" if depth == 0:
                return number, token.end(), False
            case "help":
                helped = True
            case "end" if depth == 0:
                break
    stop = next((line for line, start in enumerate(starts) if start >= at and line > number), len(starts) - 1)
    return (len(starts) - 1 if token is None else stop), None, helped


def names_in_magics(text: str) -> set[str]:
    """Return all words in the magics of a notebook's text, each of which may be a name that it reads."""
    magics = (line.partition(MARK)[2] for line in text.split("\n")) if MARK in text else ()
    return {word for magic in magics for word in re.findall(r"[^\W\d]\w*", magic)}
