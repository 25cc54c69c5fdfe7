"""Explanations of the rules for the files of the repository, for YAML, and for recognizing documents."""

from __future__ import annotations

from collections.abc import Mapping

from gitops_connect.model.diagnostics import INTERNAL_ERROR, Severity
from gitops_connect.report.rules.explanation import RuleExplanation

_SOURCE: Mapping[str, RuleExplanation] = {
    "source/file-name": RuleExplanation(
        "A file name is not UTF-8, or contains a character that is not printable. The file is not read.",
        "Rename the file with printable characters in UTF-8.",
        "error: the file's name is not UTF-8, and the file is not read",
    ),
    "source/file-too-large": RuleExplanation(
        "A file of a directory is larger than 4 GiB. The file is not read.",
        "Remove the file. If it is an offset manifest, store it elsewhere and use `manifest.uri`.",
        "warning: the file is larger than 4 GiB and is not read",
        Severity.WARNING,
    ),
    "source/submodule": RuleExplanation(
        "The repository contains a submodule. Submodules are not read.",
        "Move the documents into this repository, or set `[repository] path` to a directory without the submodule.",
        "warning: a submodule is not read, so its content is not part of the desired state",
        Severity.WARNING,
    ),
    "source/special-file": RuleExplanation(
        "A path is neither a file, nor a link, nor a directory: a pipe, a socket or a device.",
        "Remove this file.",
        "error: this is neither a file nor a directory, and is not read",
    ),
    "source/broken-link": RuleExplanation(
        "A symbolic link points to a file that does not exist, or back to itself.",
        "Fix or remove the link.",
        "error: the link points to orders-old.yaml, which does not exist",
    ),
    "source/link-to-directory": RuleExplanation(
        "A symbolic link points to a directory. Only links to files are followed.",
        "Link the files one by one, or move the directory to the place of the link.",
        "error: the link points to the directory ../shared, and only links to files are followed",
    ),
    "source/link-out-of-tree": RuleExplanation(
        "A symbolic link leads out of the directory that is read: the repository, or `[repository] path`.",
        "Copy the file to the place of the link.",
        "error: the link points to /etc/passwd, outside of the directory that is read",
    ),
}

_YAML: Mapping[str, RuleExplanation] = {
    "yaml/syntax": RuleExplanation(
        "A document is not valid YAML, or contains an unresolved merge conflict.",
        "Correct the line of the message. For known mistakes, the hint says how.",
        "error: this is not YAML: the indentation contains a tab",
    ),
    "yaml/encoding": RuleExplanation(
        "The file is not UTF-8.",
        "Save the file as UTF-8.",
        "error: the file is encoded in UTF-16, expected UTF-8",
    ),
    "yaml/character": RuleExplanation(
        "The file contains a control character that YAML does not allow.",
        "Remove the character, or write it as an escape in double quotes.",
        "error: the character U+0007 is not allowed in YAML",
    ),
    "yaml/duplicate-key": RuleExplanation(
        "A key appears twice in one mapping, so it is unknown which value is correct.",
        "Keep only the correct value.",
        "metadata:\n  name: orders\n  name: orders-source",
    ),
    "yaml/key": RuleExplanation(
        "A key is not a string, but a number, a boolean, a list or a mapping.",
        "Put the key in quotes.",
        "config:\n  1: orders",
    ),
    "yaml/alias": RuleExplanation(
        "An alias names an anchor that is not defined before it, or that contains the alias.",
        "Define the anchor first. Put a string that begins with `*` in quotes.",
        "topics: *orders",
    ),
    "yaml/merge": RuleExplanation(
        "The value of a merge key (`<<`) is neither a mapping nor a list of mappings.",
        "Merge an alias of a mapping, or a list of such aliases.",
        "config:\n  <<: defaults",
    ),
    "yaml/tag": RuleExplanation(
        "A value has a YAML tag that documents do not allow.",
        "Remove the tag.",
        "password: !!python/object:os.system rm",
    ),
    "yaml/number": RuleExplanation(
        "A number cannot be written as JSON: it is infinite, not a number, or too long.",
        "Put the value in quotes if it is a string; otherwise write a finite number.",
        "offset: {position: .inf}",
    ),
    "yaml/depth": RuleExplanation(
        "A document has more nested levels than the limit in the message.",
        "Use fewer levels. Documents and offset manifests need only a few.",
        "error: the document is nested deeper than 50 levels",
    ),
    "yaml/nodes": RuleExplanation(
        "A document has more values than the limit, counted with its aliases resolved.",
        "Split the document. Move long lists of offsets to an offset manifest.",
        "error: with its aliases resolved, the document has more than 100,000 values",
    ),
    "yaml/root": RuleExplanation(
        "A document is a list or a single value instead of a mapping.",
        "Write a mapping that begins with `apiVersion`.",
        "- apiVersion: gitops-connect/v1\n  kind: Connector",
    ),
}

_DOCUMENT: Mapping[str, RuleExplanation] = {
    "document/api-version": RuleExplanation(
        "The `apiVersion` of a document that looks like a document of gitops-connect is missing or unknown.",
        "Write `apiVersion: gitops-connect/v1`, or move the file away from the documents.",
        "error: apiVersion is 'gitops-connect/v2', expected 'gitops-connect/v1'",
    ),
    "document/foreign": RuleExplanation(
        "A document has a kind of gitops-connect or Strimzi, but the API group of another tool. It is ignored.",
        "Do nothing if the document belongs to the other tool. Otherwise correct its `apiVersion`.",
        "warning: a Connector of platform.confluent.io/v1beta1 is not a gitops-connect document, and is ignored",
        Severity.WARNING,
    ),
    "document/too-large": RuleExplanation(
        "A file with a document of gitops-connect is larger than 10 MiB. The file is not read. `convert` also limits"
        " the size of a connector.",
        "Split the file. Move long lists of offsets to an offset manifest.",
        "error: the file contains a gitops-connect document and is larger than 10 MiB; it is not read",
    ),
    "document/too-many": RuleExplanation(
        "A file contains more than 10,000 documents. The file is not read. `convert` also limits the"
        " numbers of values, connectors and config keys.",
        "Split the file into several files.",
        "error: the file has more than 10,000 documents",
    ),
    "document/clear-secret": RuleExplanation(
        "A field other than the config, such as an annotation or an offset, is or contains a secret in clear text in"
        " Git. The message never shows the value.",
        "Remove the secret from the field: only `spec.config` can refer to a secret. Rotate the secret.",
        "warning: metadata.annotations.alerts contains a Slack webhook URL, in clear text in Git",
        Severity.WARNING,
    ),
}

_INTERNAL: Mapping[str, RuleExplanation] = {
    INTERNAL_ERROR: RuleExplanation(
        "A bug in gitops-connect prevents the processing of a document, a connector or an offset change. It is neither"
        " changed nor deleted. All others are processed. The command ends with exit code 70.",
        "Report the bug with its trace. `run` logs the trace as event `bug`, other commands print it on stderr. Until"
        " the bug is fixed, write the document in another way, or undo its last change.",
        "error: internal error: a bug (KeyError) prevents the processing of this document",
    ),
}

DOCUMENTS: Mapping[str, RuleExplanation] = {**_SOURCE, **_YAML, **_DOCUMENT, **_INTERNAL}
