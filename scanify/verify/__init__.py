"""The proof: cases run in processes of their own, and both versions compared. Named here is what a call imports."""

from typing import TYPE_CHECKING

from scanify.on_call import on_call

if TYPE_CHECKING:
    from scanify.verify.run import verify
else:
    verify = on_call("scanify.verify.run", "verify")

__all__ = ["verify"]
