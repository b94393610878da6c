"""Find the line of the user's source from which an operation of a traced program comes."""

from pathlib import Path
from typing import Any

import equinox as eqx
import jax

_FILES = (jax.__file__, eqx.__file__, str(Path(__file__).parents[1]))
_LIBRARIES = tuple(str(Path(file).parent) for file in _FILES)


def source_line(equation: Any) -> tuple[str, int] | None:
    """Return the file and the innermost line outside of libraries; None if all are in libraries."""
    traceback = getattr(equation.source_info, "traceback", None)
    for frame in [] if traceback is None else list(traceback.frames):  # innermost first
        if not frame.file_name.startswith((*_LIBRARIES, "<")):
            return frame.file_name, int(frame.line_num)
    return None
