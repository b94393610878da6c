"""`pytest --scanify`: the cases of a project as tests."""
