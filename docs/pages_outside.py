"""A hook of MkDocs: what the site has in addition to the pages in docs/.

The pages at the top of the repository are part of the site, and links to them work in both places.

On the forge a page links to `../ARCHITECTURE.md`, and ARCHITECTURE.md to `docs/…`. In the site these pages are beside
the others. A link to any other file of the repository (code, tests, schemas) becomes its text: the site has no copy.

The first use of a term of the glossary on a page links to its definition.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
TOP = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
GLOSSARY = "reference/glossary.md"
TERMS = re.findall(r"^### ([^,\n]+)(, .*)?$", (ROOT / "docs" / GLOSSARY).read_text(encoding="utf-8"), re.MULTILINE)
LINKED = [term for term, context in TERMS if not context]
"""A term that also has an everyday meaning is defined with its context, as in `Target, of an offset change`."""
NOT_PROSE = r"^```.*?^```|^    .*?$|^#.*?$|^\|.*\n\| ?-|`[^`\n]*`|!?\[[^\]]*\]\([^)]*\)|<!--.*?-->"
PROSE = re.compile(rf"{NOT_PROSE}|\b(?P<term>{'|'.join(LINKED)})s?\b", re.MULTILINE | re.DOTALL | re.IGNORECASE)
LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>(?!https?:|mailto:|#)[^)#\s]+)(?P<anchor>#[^)]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages at the top of the repository."""
    for name in TOP:
        files.append(File.generated(config, name, content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Point links between docs/ and the top of the repository to where the site has the page."""
    place = page.file.src_uri
    in_repository = place if place in TOP else f"docs/{place}"

    def in_site(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(in_repository), match["target"]))
        if target not in TOP and not target.startswith("docs/"):
            return match["text"]
        there = posixpath.relpath(target.removeprefix("docs/"), posixpath.dirname(place) or ".")
        return f"[{match['text']}]({there}{match['anchor'] or ''})"

    text = LINK.sub(in_site, markdown)
    is_for_users = place not in (*TOP, GLOSSARY) and not place.startswith("contributing/")
    return link_terms(text, posixpath.relpath(GLOSSARY, posixpath.dirname(place) or ".")) if is_for_users else text


def link_terms(markdown: str, glossary: str) -> str:
    """Link the first use of each term in a sentence to its definition. Code, headings and links stay as they are."""
    linked = set()

    def link(match: re.Match[str]) -> str:
        term = (match["term"] or "").lower()
        if not term or term in linked:
            return match[0]
        linked.add(term)
        return f"[{match[0]}]({glossary}#{term.replace(' ', '-')})"

    return PROSE.sub(link, markdown)
