"""Large manifests as local files that Spark can open: out of git or from a URI, written as lines where need be.

`files` stages one file, `store` keeps what was staged under its digest, `uris` checks what a URI leads to.
"""
