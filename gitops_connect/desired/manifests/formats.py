"""The format and the compression of a manifest, by its name."""

from __future__ import annotations

from enum import Enum

from gitops_connect.model.unreadable import FORMAT, Unreadable, shown


class Format(Enum):
    """The format of the entries."""

    JSON = "JSON"
    YAML = "YAML"
    LINES = "JSON Lines"
    CSV = "CSV"
    PARQUET = "Parquet"


_BY_SUFFIX = {
    ".json": Format.JSON,
    ".yaml": Format.YAML,
    ".yml": Format.YAML,
    ".jsonl": Format.LINES,
    ".ndjson": Format.LINES,
    ".csv": Format.CSV,
    ".parquet": Format.PARQUET,
}
SUFFIXES = tuple(_BY_SUFFIX)
"""The suffixes of the formats; `.gz` or `.zst` may follow, except for Parquet, which is compressed inside."""
_COMPRESSIONS = (".gz", ".zst")


def format_of(path: str) -> tuple[Format, str]:
    """The format of a file of that name, and how it is compressed: `.gz`, `.zst`, or empty. Raises Unreadable."""
    name = path.rpartition("/")[2].lower()
    compression = next((suffix for suffix in _COMPRESSIONS if name.endswith(suffix)), "")
    plain = name.removesuffix(compression)
    suffix = plain[plain.rfind(".") :] if "." in plain else ""
    if suffix not in _BY_SUFFIX:
        found = f"the suffix of its name is {shown(suffix)}" if suffix else "its name has no suffix"
        known = ", ".join(SUFFIXES)
        raise Unreadable(FORMAT, f"{found}, expected one of {known}, each also with {' or '.join(_COMPRESSIONS)}")
    if _BY_SUFFIX[suffix] is Format.PARQUET and compression:
        raise Unreadable(FORMAT, f"it is Parquet in {compression}; use plain Parquet, which has compression of its own")
    return _BY_SUFFIX[suffix], compression


def suffix_of(path: str) -> str:
    """The suffix that determines the format, in lower case: `.json.gz`. Raises Unreadable."""
    _, compression = format_of(path)
    plain = path.lower().removesuffix(compression)
    return plain[plain.rfind(".") :] + compression


def is_manifest(path: str) -> bool:
    """Whether a file of that name is a manifest, if a directory or a glob means all manifests in it."""
    try:
        format_of(path)
    except Unreadable:
        return False
    return True
