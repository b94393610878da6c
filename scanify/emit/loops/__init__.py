"""What becomes of one loop: its function, what it collects, its early exits, and what stands around it."""
