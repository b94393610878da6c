"""Evidence from commands that users name: recorded calls. What is named here is imported when it is called."""

from typing import TYPE_CHECKING

from scanify.on_call import on_call

if TYPE_CHECKING:
    from scanify.commands.recorded.reached import reached_by
else:
    reached_by = on_call("scanify.commands.recorded.reached", "reached_by")

__all__ = ["reached_by"]
