"""Iterations: what a loop, a comprehension or a generator walks, what each time sees, and what it leaves."""
