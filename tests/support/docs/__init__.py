"""The pages of the docs, and the modules of the package."""
