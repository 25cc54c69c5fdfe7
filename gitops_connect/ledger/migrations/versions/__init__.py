"""One module for each version of the schema. A module that was released is never changed."""
