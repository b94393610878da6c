"""Find repetitions in a program: equal stretches of operations that form a loop, and which of them to roll."""
