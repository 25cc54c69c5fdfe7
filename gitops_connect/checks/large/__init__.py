"""The rules over manifests of millions of entries: the engine on Spark; the one door of pyspark, pyarrow and numpy.

A file is cut into units. A task certifies the lines of its units by their exact form, all at once, and gives every
other line to the one rule function (`checks.entries`). What is left of an entry is a row of a few numbers: a hash of
its partition, its offset, its place. These rows are shuffled by their hash, together with those of the offsets that
stand; what meets there is a duplicate, or a move. `check.py` is where to begin.
"""
