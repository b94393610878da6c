"""What people give by mistake, and what must not happen then: `python -m tests.bad_inputs` tries all and prints a table."""
