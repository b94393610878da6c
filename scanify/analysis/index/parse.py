"""Parse text to `ast`, or report why it cannot be parsed."""

import ast
import warnings
from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """The reason why a file could not be parsed, with the line (from 1)."""

    line: int
    message: str


def parse(text: str) -> ast.Module | Problem:
    """Parse `text` as the running Python does; return a `Problem` if that fails."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings such as invalid escapes are not ours to report
            return ast.parse(text)
    except SyntaxError as error:
        return Problem(error.lineno or 1, str(error.msg))
    except ValueError as error:
        return Problem(1, str(error))
    except (RecursionError, MemoryError):
        return Problem(1, "nested too deeply to be parsed")
