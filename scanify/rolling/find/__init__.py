"""Finding what repeats in a program: stretches of equal operations that hang together, and which of them to roll."""
