"""Text to `ast`, or why there is no tree."""

import ast
import warnings
from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """Why a file could not be parsed, with the line (from 1)."""

    line: int
    message: str


def parse(text: str) -> ast.Module | Problem:
    """The tree of `text` as the running Python reads it, or why there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes and the like are not ours to report
            return ast.parse(text)
    except SyntaxError as error:
        return Problem(error.lineno or 1, str(error.msg))
    except ValueError as error:
        return Problem(1, str(error))
    except (RecursionError, MemoryError):
        return Problem(1, "nested too deeply to be parsed")
