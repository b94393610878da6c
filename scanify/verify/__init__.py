"""The proof: cases run in their own processes, and both versions are compared. These names are imported on a call."""

from typing import TYPE_CHECKING

from scanify.on_call import on_call

if TYPE_CHECKING:
    from scanify.verify.run import verify
else:
    verify = on_call("scanify.verify.run", "verify")

__all__ = ["verify"]
