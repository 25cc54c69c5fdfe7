"""Checks manifests with millions of entries on Spark. Start with `check`.

A file is cut into splits (`input_splits`). A task matches the lines of its splits against known formats, all at once
(`line_formats`), and gives every other line to the one rule function (`checks.entries`). Each entry becomes a row of a
few numbers: a hash of its partition (`keys`), its offset, its position (`parse`). Spark shuffles these rows by their
hash, together with the rows of the current offsets. The outer join of a bucket finds duplicates and moves (`join`).
`output` turns the results of all tasks into verdicts and patches to send; `violations` counts violations, finds their
lines, and writes all of them to a file if that is requested.
"""
