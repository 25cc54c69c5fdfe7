"""Large manifests as local files that Spark can open: from Git or from a URI, converted to lines if necessary.

`files` stages one file, `store` keeps staged files under their digest, `uris` checks the content at a URI.
"""
