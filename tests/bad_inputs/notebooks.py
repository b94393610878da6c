"""Notebooks that are none."""

import json

from tests.bad_inputs.bad_input import BadInput
from tests.command import MODEL

CELL = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": MODEL}


def notebook(what: str, text: object, code: int, says: str, run: str = "scanify check model.ipynb") -> BadInput:
    return BadInput(
        what, run, code, says, {"model.ipynb": text if isinstance(text, (str, bytes)) else json.dumps(text)}
    )


NOTEBOOKS = [
    notebook("a notebook that is no JSON", "{", 1, "model.ipynb"),
    notebook("an empty notebook file", "", 1, "model.ipynb"),
    notebook("a notebook that is a list", [], 1, "model.ipynb"),
    notebook("a notebook without cells", {"nbformat": 4, "metadata": {}}, 1, "cells"),
    notebook("a notebook with no cell", {"nbformat": 4, "metadata": {}, "cells": []}, 0, "No loop"),
    notebook("a notebook without nbformat", {"metadata": {}, "cells": [CELL]}, 1, "nbformat|SCN101"),
    notebook("a notebook of format 3", {"nbformat": 3, "worksheets": [{"cells": []}]}, 1, "nbformat|3"),
    notebook("a cell whose source is a number", {"nbformat": 4, "cells": [CELL | {"source": 3}]}, 1, "source|cell"),
    notebook("a cell with a syntax error", {"nbformat": 4, "cells": [CELL | {"source": "def f(:\n"}]}, 1, "cell 1"),
    notebook(
        "a notebook of another language",
        {
            "nbformat": 4,
            "metadata": {"kernelspec": {"language": "R", "name": "ir"}},
            "cells": [CELL | {"source": "x <- 1"}],
        },
        (0),
        "(?i)no |R",
    ),
    notebook(
        "a notebook with NUL bytes",
        json.dumps({"nbformat": 4, "cells": [CELL]}).encode() + b"\0",
        1,
        "model.ipynb",
        "scanify rewrite model.ipynb",
    ),
    notebook("a notebook nested a thousand deep", "[" * 5000 + "]" * 5000, 1, "model.ipynb"),
    notebook(
        "a notebook with a byte order mark",
        b"\xef\xbb\xbf" + json.dumps({"nbformat": 4, "cells": [CELL]}).encode(),
        (0, 1),
        "model.ipynb|SCN101",
    ),
    notebook(
        "a cell with half a character",
        {"nbformat": 4, "cells": [CELL | {"source": "x = '\ud800'\n"}]},
        (0, 1),
        "model.ipynb|No loop",
    ),
    notebook(
        "a notebook with a number that is none",
        '{"nbformat": 4, "metadata": {"a": NaN}, "cells": []}',
        (0, 1),
        "model.ipynb|No loop",
    ),
    notebook(
        "a notebook with the same key twice, to rewrite",
        '{"nbformat": 4, "cells": [], "cells": [' + json.dumps(CELL) + "]}",
        (0, 1),
        "model.ipynb",
        "scanify rewrite model.ipynb --check",
    ),
    notebook("a cell that is null", {"nbformat": 4, "cells": [None, 3, CELL]}, 1, "model.ipynb"),
    notebook(
        "a source that is a list of numbers", {"nbformat": 4, "cells": [CELL | {"source": [1, "x"]}]}, 1, "model.ipynb"
    ),
]
