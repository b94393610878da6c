"""Read and write the header of an array in NumPy's format as text."""

import ast
import io
import re
from math import prod
from typing import IO, Any

import numpy as np

from scanify.checkpoints.formats.opened import whole
from scanify.checkpoints.saved_array import SavedArray
from scanify.errors import ScanifyError

MAGIC = b"\x93NUMPY"


def read_header(file: Any, source: int, name: str, where: str) -> tuple[SavedArray, bool]:
    """Read the header of array number `source` of a file, and whether it is in Fortran order. Its bytes follow.

    The dtype is returned as written, since NumPy would turn the `<V2` of a bfloat16 into `|V2`. Raises ScanifyError if
    the header is invalid, or if the array holds Python objects, which are pickled.
    """
    try:
        version = np.lib.format.read_magic(file)
        size = int.from_bytes(file.read(2 if version == (1, 0) else 4), "little")
        told = ast.literal_eval(file.read(size).decode("latin1" if version < (3, 0) else "utf8"))
        descr, shape, fortran = told["descr"], tuple(told["shape"]), bool(told["fortran_order"])
        dtype = numpy_dtype(descr)
    except (KeyError, SyntaxError, TypeError, ValueError) as error:
        raise ScanifyError(f"{where}: {name!r} cannot be read: {error}") from None
    if dtype.hasobject:
        raise ScanifyError(f"{where}: {name!r} holds Python objects (dtype {dtype}), whose bytes are a pickle")
    return whole(name, descr, shape, prod(shape) * dtype.itemsize, source), fortran and len(shape) > 1


def numpy_dtype(dtype: Any) -> "np.dtype[Any]":
    """Return the dtype of a header. For dtypes unknown to NumPy, such as the `<f1` of a float8, use the width."""
    try:
        return np.lib.format.descr_to_dtype(dtype)
    except TypeError:
        width = re.fullmatch(r"[<>|=]?[a-zA-Z](\d+)", dtype) if isinstance(dtype, str) else None
        if width is None:
            raise
        return np.dtype(f"V{width[1]}")


def write_header(file: IO[bytes], dtype: Any, shape: tuple[int, ...]) -> None:
    """Write the header that `numpy.save` writes for an array of this dtype and shape."""
    text = io.BytesIO()
    np.lib.format.write_array_header_1_0(text, {"descr": dtype, "fortran_order": False, "shape": shape})
    file.write(text.getvalue())
