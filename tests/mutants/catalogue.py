"""All mutants."""

from tests.mutants import of_fixtures, of_loading, of_sequences, of_small_models

MUTANTS = (*of_fixtures.MUTANTS, *of_sequences.MUTANTS, *of_small_models.MUTANTS, *of_loading.MUTANTS)
