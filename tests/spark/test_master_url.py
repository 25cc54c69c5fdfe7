"""What `[spark] master` may be, what is shown of it, and which directory it needs; and what Spark's errors mean."""

from __future__ import annotations

import pytest
from support.files.tables import rows

from gitops_connect.errors import UsageError
from gitops_connect.spark.executor_modules import failed
from gitops_connect.spark.master_url import Master, MasterKind, master_of


@pytest.mark.parametrize(("text", "kind", "shown", "addresses", "is_here"), rows(__file__, "masters"))
def test_every_kind_of_master(text: str, kind: str, shown: str, addresses: list[list[object]], is_here: bool) -> None:
    assert master_of(text) == Master(MasterKind[kind], shown, tuple(map(tuple, addresses)))
    assert master_of(text).is_here is is_here


@pytest.mark.parametrize(
    "text",
    ["", "locale", "local[0]", "local-cluster[1,1,1]", "spark://a", "mesos://a:1", "sc://;token=secret", "k8s://"],
)
def test_another_is_refused_without_its_token(text: str) -> None:
    with pytest.raises(UsageError, match=r"\[spark\] master: expected local\[\*\], .* found") as error:
        master_of(text)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(("text", "kind", "message"), rows(__file__, "errors"))
def test_what_spark_says_becomes_one_sentence(text: str, kind: str, message: str) -> None:
    found = failed("no", ValueError(text))
    assert (type(found).__name__, str(found)) == (kind, message)
