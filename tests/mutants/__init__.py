"""Random mutants of the product, which the tests must notice."""
