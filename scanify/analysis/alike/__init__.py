"""Whether the layers of a list may share one body, what that gains, and how one call makes them."""
