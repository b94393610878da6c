"""The loop itself: `lax.scan` under a remat policy, with any pytree for a carry."""
