"""Evidence from recorded calls of user commands. The functions here are imported on the first call."""

from typing import TYPE_CHECKING

from scanify.on_call import on_call

if TYPE_CHECKING:
    from scanify.commands.recorded.reached import reached_by
else:
    reached_by = on_call("scanify.commands.recorded.reached", "reached_by")

__all__ = ["reached_by"]
