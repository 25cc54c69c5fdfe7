"""Which required permissions a broker does not grant, as Kafka's authorizer decides (`StandardAuthorizerData`).

An ACL is for a principal or for `User:*`, for one name, for a prefix, or for every name (`*`). One that denies wins
over all that allow. A required permission is for any host, so an ACL for one host does not grant it. Super users, who
need no ACL, are in the config of the brokers, and cannot be seen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain

from gitops_connect.model.required_acls import Acl, AclOperation, AclPattern, AclResource, LiveAcl, MissingAcl

_ANY_PRINCIPAL, _ANY_NAME, _ANY_HOST, _ALL = "User:*", "*", "*", "All"
_GRANT_DESCRIBE = {"Describe", "Read", "Write", "Delete", "Alter", _ALL}


def missing_acls(required: Iterable[Acl], live: Iterable[LiveAcl]) -> tuple[MissingAcl, ...]:
    """The required permissions that are not granted, in their order."""
    known = _LiveAcls(live)
    return tuple(MissingAcl(acl, reason) for acl in required if (reason := known.problem(acl)) is not None)


class _LiveAcls:
    """The ACLs by resource and name: literal names, and prefixes by their length."""

    def __init__(self, acls: Iterable[LiveAcl]) -> None:
        self._literal = defaultdict[tuple[AclResource | None, str], list[LiveAcl]](list)
        self._prefixed = defaultdict[tuple[AclResource | None, str], list[LiveAcl]](list)
        self._denials = defaultdict[AclResource | None, list[LiveAcl]](list)
        for acl in acls:
            table = self._prefixed if acl.pattern is AclPattern.PREFIXED else self._literal
            table[acl.resource, acl.name].append(acl)
            if not acl.allows:
                self._denials[acl.resource].append(acl)
        self._lengths = sorted({len(name) for _, name in self._prefixed})

    def problem(self, acl: Acl) -> str | None:
        """None if the broker grants the permission; else why not, or an empty string if no ACL is about it."""
        if acl.operation is AclOperation.CREATE and acl.resource is AclResource.TOPIC:  # `KafkaApis.createTopics`
            whole = [one for one in self._literal[None, "kafka-cluster"] if _is_for(one, acl)]
            if _decide(whole, acl) is None:
                return None
        covering = [one for one in self._covering(acl) if _is_for(one, acl)]
        if acl.pattern is AclPattern.PREFIXED:
            denials = (one for one in self._denials[acl.resource] if one.name.startswith(acl.name))
            covering += [one for one in denials if _is_for(one, acl)]
        return _decide(covering, acl)

    def _covering(self, acl: Acl) -> Iterator[LiveAcl]:
        """The ACLs whose pattern covers every name that the permission is for."""
        names = {_ANY_NAME} if acl.pattern is AclPattern.PREFIXED else {_ANY_NAME, acl.name}
        literal = (self._literal.get((acl.resource, name), ()) for name in names)
        prefixes = (acl.name[:length] for length in self._lengths if length <= len(acl.name))
        return chain.from_iterable([*literal, *(self._prefixed.get((acl.resource, one), ()) for one in prefixes)])


def _is_for(one: LiveAcl, acl: Acl) -> bool:
    return one.principal in (acl.principal, _ANY_PRINCIPAL)


def _decide(found: Iterable[LiveAcl], acl: Acl) -> str | None:
    """As `_LiveAcls.problem`. The list of required permissions has no Describe that another operation implies, but a
    denied Describe is not implied."""
    name = acl.operation.value
    grant = _GRANT_DESCRIBE if acl.operation is AclOperation.DESCRIBE else {name, _ALL}
    deny = {name, _ALL, "Describe"} if name in _GRANT_DESCRIBE else {name, _ALL}
    allowing = [one for one in found if one.allows and one.operation in grant]
    denying = [one for one in found if not one.allows and one.operation in deny]
    if denying:
        first = denying[0]
        host = "" if first.host == _ANY_HOST else f" from host {first.host}"
        return f"{first.operation} is denied to {first.principal}{host}: {first.pattern.value} {first.name}"
    if any(one.host == _ANY_HOST for one in allowing):
        return None
    return f"allowed only from host {allowing[0].host}" if allowing else ""
