"""What import-linter cannot check: forbidden names, sizes of modules and functions, and a core without effects."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

from support import shared_services
from support.docs.package_source import MODULES, PACKAGE, nodes, tree

from gitops_connect.families.registry import BUILT_IN

REFUSED = {"utils", "util", "helpers", "common", "misc", "manager", "base", "core"}
PURE = ("model", "families", "documents", "strimzi", "exchange/readers", "plan", "report")
LONGEST_MODULE = 600
"""Lines. A file is as long as its subject: most have fewer than 400."""
LONGEST_FUNCTION = 50
TEMPLATES = {
    # Messages and hints of tables whose texts are literals.
    ("offsets/rules/rules.py", "RULES[finding.rule].hint"),
    ("offsets/rules/rules.py", "RULES[finding.rule].message"),
    ("plan/offset_effects.py", "key.hint"),
    ("plan/offset_effects.py", "template"),
    ("spark/executor_modules.py", "words"),
    # A literal of another module.
    ("model/masking.py", "MASK"),
    # Numbers, and a formatter of the logging package.
    ("families/jdbc/__init__.py", "time"),
    ("cli/run.py", "writer"),
}
"""The templates that are not literals where they are used: the module, the expression, and above it the reason."""


def test_a_module_has_a_name_and_a_reason() -> None:
    assert [path for path in MODULES if path.stem in REFUSED] == []
    without = [module for module in MODULES if not ast.get_docstring(tree(module))]
    assert without == [], "every module opens with a sentence saying what it is"


def test_no_two_modules_and_no_two_classes_share_a_name() -> None:
    modules = Counter(module.stem for module in MODULES if module.stem != "__init__")
    classes = Counter(node.name for module in MODULES for node in tree(module).body if isinstance(node, ast.ClassDef))
    assert [name for name, count in (modules + classes).items() if count > 1] == []


def test_modules_are_short() -> None:
    assert [path for path in MODULES if len(path.read_text().splitlines()) > LONGEST_MODULE] == []


def test_functions_are_short() -> None:
    long = [
        f"{module}: {node.name}"
        for module in MODULES
        for node in nodes(module)
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= LONGEST_FUNCTION
    ]
    assert long == []


def test_only_families_name_connector_classes() -> None:
    """Except examples of messages. What is known of a class is a part of its `ConnectorClass`."""
    others = [module for module in MODULES if module.relative_to(PACKAGE).parts[0] not in ("families", "report")]
    named = [(module.name, name) for module in others for name in BUILT_IN.classes if name in module.read_text()]
    assert named == []


def test_the_core_opens_no_file_and_reads_no_clock() -> None:
    effects = {"open", "print", "now", "utcnow", "today", "input"}
    found = [
        f"{module}:{node.lineno}"
        for module in MODULES
        if module.relative_to(PACKAGE).as_posix().startswith(tuple(f"{one}/" for one in PURE))
        for node in nodes(module)
        if isinstance(node, ast.Call) and called(node) in effects
    ]
    assert found == []


def test_no_input_becomes_a_format_string() -> None:
    """The name of a field such as `{:>1500000000}` would take 1.5 GB."""
    found = [
        (str(module.relative_to(PACKAGE)), ast.unparse(template))
        for module in MODULES
        for node in nodes(module)
        if (template := template_of(node)) is not None and not is_literal(template, module)
    ]
    assert sorted(set(found) - TEMPLATES) == [], "make the template a literal, use an f-string, or add the reason above"
    assert sorted(TEMPLATES - set(found)) == [], "no longer needed"


def template_of(node: ast.AST) -> ast.expr | None:
    """What the expression formats, or inserts for each match of a regular expression."""
    match node:
        case ast.Call(func=ast.Attribute(value=template, attr="format" | "format_map" | "vformat")):
            return template
        case ast.BinOp(left=template, op=ast.Mod()):
            return template
        case ast.Call(func=ast.Attribute(value=ast.Name("re"), attr="sub" | "subn"), args=[_, template, *_]):
            return template
        case ast.Call(func=ast.Attribute(attr="sub" | "subn" | "expand"), args=[template, *_]):
            return template
        case ast.Call(func=ast.Name("format"), args=[_, template]):
            return template
        case _:
            return None


def is_literal(template: ast.expr, module: Path) -> bool:
    """Whether it is a literal, a function, a number, or a constant of the module that is a literal."""
    match template:
        case ast.Constant() | ast.Lambda() | ast.Call(func=ast.Name("len")):
            return True
        case ast.BinOp(right=ast.Constant(value=int()) | ast.Call(func=ast.Name("len"))):
            return True
        case ast.Attribute(value=ast.Name("self"), attr=method):
            return any(isinstance(node, ast.FunctionDef) and node.name == method for node in nodes(module))
        case ast.Name(name):
            values = [
                node.value
                for node in tree(module).body
                if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
            ]
            functions = [node for node in nodes(module) if isinstance(node, ast.FunctionDef) and node.name == name]
            return bool(functions) or (name.isupper() and any(isinstance(one, ast.Constant) for one in values))
        case _:
            return False


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else str(getattr(node.func, "id", ""))


def test_the_tests_that_share_a_service_exist() -> None:
    scopes, ordered = shared_services.SCOPES, {*shared_services.LONG, *shared_services.LAST}
    named = [test.partition("::")[0] for prefixes in [*scopes.values(), ordered - scopes.keys()] for test in prefixes]
    assert [name for name in named if not (PACKAGE.parent / name).exists()] == []
