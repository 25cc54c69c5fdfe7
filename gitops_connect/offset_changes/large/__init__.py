"""Offset changes whose offsets, or those that stand, are too many to be held: their way through files, Spark, and back.

`workspace` has the files of one cycle, `checking` what Spark says of them, `change` is what applying asks for.
"""
