"""What a project does with a list of layers beyond the loop: some uses need a Python list, others work on a stack."""
