"""Uses of a list of layers beyond the loop: some need a Python list, others work on a stack."""
