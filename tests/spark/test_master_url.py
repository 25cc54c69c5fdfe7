"""What `[spark] master` may be, what is shown of it, and which directory it needs; and what Spark's errors mean."""

from __future__ import annotations

import pytest

from gitops_connect.errors import SparkFailed, SparkUnusable, UsageError
from gitops_connect.spark.executor_modules import failed
from gitops_connect.spark.master_url import Master, MasterKind, master_of


@pytest.mark.parametrize(
    ("text", "master", "is_here"),
    [
        ("local", Master(MasterKind.LOCAL, "local"), True),
        ("local[*]", Master(MasterKind.LOCAL, "local[*]"), True),
        ("local[4,2]", Master(MasterKind.LOCAL, "local[4,2]"), True),
        ("spark://a:1,b:2", Master(MasterKind.STANDALONE, "spark://a:1,b:2", (("a", 1), ("b", 2))), False),
        (
            "spark://127.0.0.1:7077",
            Master(MasterKind.STANDALONE, "spark://127.0.0.1:7077", (("127.0.0.1", 7077),)),
            True,
        ),
        ("yarn", Master(MasterKind.MANAGED, "yarn"), False),
        ("k8s://https://a:6443", Master(MasterKind.MANAGED, "k8s://https://a:6443"), False),
        ("sc://a/;use_ssl=true;token=secret", Master(MasterKind.CONNECT, "sc://a", (("a", 15002),)), False),
        ("sc://[::1]:7/;token=secret", Master(MasterKind.CONNECT, "sc://[::1]:7", (("[::1]", 7),)), True),
    ],
)
def test_every_kind_of_master(text: str, master: Master, is_here: bool) -> None:
    assert master_of(text) == master
    assert master_of(text).is_here is is_here


@pytest.mark.parametrize(
    "text",
    ["", "locale", "local[0]", "local-cluster[1,1,1]", "spark://a", "mesos://a:1", "sc://;token=secret", "k8s://"],
)
def test_another_is_refused_without_its_token(text: str) -> None:
    with pytest.raises(UsageError, match=r"\[spark\] master: expected local\[\*\], .* found") as error:
        master_of(text)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "x\nTraceback (most recent call last):\n  x\nModuleNotFoundError: No module named 'pyarrow.lib'\n\n\tat x",
            SparkUnusable(
                "no: the executors cannot run it: their Python has no package pyarrow: install numpy, pandas, "
                'pyarrow and zstandard for their Python (choose it with "spark.pyspark.python" in [spark.options], or '
                "with PYSPARK_PYTHON of a Connect server)"
            ),
        ),
        (
            "Traceback (most recent call last):\n  File 1\nFileNotFoundError: [Errno 2] /m\n\n\tat org.apache",
            SparkFailed("no: FileNotFoundError: [Errno 2] /m"),
        ),
        ("An error occurred while calling o1.x.\n: org.X: Job aborted\n\tat", SparkFailed("no: org.X: Job aborted")),
        ("", SparkFailed("no: ValueError")),
    ],
)
def test_what_spark_says_becomes_one_sentence(text: str, error: Exception) -> None:
    found = failed("no", ValueError(text))
    assert (type(found), str(found)) == (type(error), str(error))
