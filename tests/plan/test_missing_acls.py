"""Which permissions a broker does not grant. tests/contract/test_acls.py compares this with Kafka's authorizer."""

from __future__ import annotations

import re

import pytest
from support.files.tables import rows

from gitops_connect.model.required_acls import Acl, AclOperation, AclPattern, AclResource, LiveAcl
from gitops_connect.plan.missing_acls import missing_acls


def live(text: str) -> LiveAcl:
    found = re.fullmatch(r"(?:(User:\S+) )?(!?)(\w+) (\S+) (\S+?)(?:@(\S+))?", text)
    assert found, text
    principal, denies, operation, resource, name, host = found.groups()
    kind = None if resource == "cluster" else AclResource(resource)
    is_prefix = name.endswith("*") and name != "*"
    pattern = AclPattern.PREFIXED if is_prefix else AclPattern.LITERAL
    name = name.removesuffix("*") if is_prefix else name
    return LiveAcl(principal or "User:a", kind, pattern, name, operation, host or "*", not denies)


@pytest.mark.parametrize(("needed", "acls", "expected"), rows(__file__, "granted"))
def test_a_permission_is_granted(needed: str, acls: list[str], expected: str) -> None:
    one = live(needed)
    assert one.resource is not None
    required = Acl(one.principal, one.resource, one.pattern, one.name, AclOperation(one.operation), ())
    found = missing_acls([required], map(live, acls))
    assert [missing.acl for missing in found] == ([] if expected == "granted" else [required])
    assert all(expected in missing.reason and bool(expected) == bool(missing.reason) for missing in found), found
