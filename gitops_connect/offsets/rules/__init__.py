"""The rules for the entries of an offset manifest."""
