from __future__ import annotations

from pathlib import Path

import pytest
from support.files.tables import rows

from gitops_connect.errors import UsageError
from gitops_connect.model.names import ClusterName
from gitops_connect.model.strimzi import NEWEST, StrimziOptions, StrimziVersion
from gitops_connect.model.units import DEFAULT_SKIP_LIMITS, SkipLimits
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import (
    ClusterMode,
    DatabaseSettings,
    KafkaSettings,
    LogFormat,
    SaslMechanism,
    SecurityProtocol,
    Settings,
)
from gitops_connect.settings.settings_file import load_settings

FULL = Path(__file__).with_name("every_section.toml").read_text()


def load(tmp_path: Path, text: str, environment: dict[str, str] | None = None) -> Settings:
    file = tmp_path / "gitops-connect.toml"
    file.write_text(text)
    return load_settings(file, environment or {})


def test_every_section_is_read_and_paths_start_from_the_file(tmp_path: Path) -> None:
    settings = load(tmp_path, FULL)
    cluster = settings.clusters[ClusterName("local")]
    assert settings.directory == tmp_path
    assert settings.repository.interval == 90
    assert settings.repository.password == Credential(env="GIT_TOKEN")
    assert cluster.url == ("http://127.0.0.1:8083", "http://127.0.0.1:8084")
    assert cluster.mode is ClusterMode.OBSERVE
    assert cluster.token == Credential(file=tmp_path / "token")
    assert cluster.databases["shop"] == DatabaseSettings(Credential(env="SHOP_URL"), ("orders-*",))
    assert cluster.kafka == KafkaSettings(
        ("k1:9093", "k2:9093"), SecurityProtocol.SASL_SSL, password=Credential(env="KAFKA_PASSWORD")
    )
    assert cluster.kafka_clusters["eu"] == KafkaSettings(
        ("eu:9093",),
        sasl_mechanism=SaslMechanism.OAUTHBEARER,
        token_url="https://login.example.com/token",
        scope="kafka",
    )
    assert settings.secrets.files == (tmp_path / "secrets",)
    assert settings.daemon.log_format is LogFormat.TEXT


CLUSTER = '[clusters.local]\nurl = ["http://127.0.0.1:8083"]\n'


def test_each_unit_has_a_limit_for_skips_and_a_number_is_that_of_records(tmp_path: Path) -> None:
    def limits(text: str, environment: dict[str, str] | None = None) -> SkipLimits:
        return load(tmp_path, text, environment).clusters[ClusterName("local")].max_skip.limits

    assert limits(CLUSTER) == DEFAULT_SKIP_LIMITS
    assert limits(f"{CLUSTER}max_skip = 5") == {**DEFAULT_SKIP_LIMITS, "records": 5}
    table = '[clusters.local.max_skip]\nwal_bytes = "1MiB"\ntime = "2h5m"\nids = 0'
    changed = {"wal_bytes": 2**20, "time": 7_500_000, "ids": 0}
    assert limits(CLUSTER + table) == {**DEFAULT_SKIP_LIMITS, **changed}
    by_environment = {"GITOPS_CONNECT_CLUSTERS__LOCAL__MAX_SKIP__OTHER": "7"}
    assert limits(CLUSTER, by_environment) == {**DEFAULT_SKIP_LIMITS, "other": 7}
    assert limits(CLUSTER, {"GITOPS_CONNECT_CLUSTERS__LOCAL__MAX_SKIP": "7"})["records"] == 7


def test_the_environment_wins_and_needs_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    environment = {
        "GITOPS_CONNECT_REPOSITORY__URL": "https://git.example/connectors.git",
        "GITOPS_CONNECT_REPOSITORY__PASSWORD__ENV": "GIT_TOKEN",
        "GITOPS_CONNECT_CLUSTERS__LOCAL__URL": "http://127.0.0.1:1, http://127.0.0.1:2",
        "GITOPS_CONNECT_CLUSTERS__LOCAL__PRUNE": "true",
        "GITOPS_CONNECT_CACHE": "/somewhere",
    }
    settings = load_settings(None, environment)
    cluster = settings.clusters[ClusterName("local")]
    assert settings.repository.url == "https://git.example/connectors.git"
    assert settings.repository.password == Credential(env="GIT_TOKEN")
    assert cluster.url == ("http://127.0.0.1:1", "http://127.0.0.1:2")
    assert cluster.prune is True


def test_the_environment_can_name_the_file(tmp_path: Path) -> None:
    file = tmp_path / "other.toml"
    file.write_text(FULL)
    assert load_settings(None, {"GITOPS_CONNECT_CONFIG": str(file)}).repository.branch == "release"
    with pytest.raises(UsageError, match=r"the settings file .*missing\.toml does not exist"):
        load_settings(None, {"GITOPS_CONNECT_CONFIG": str(tmp_path / "missing.toml")})


def test_a_credential_is_read_when_it_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "token"
    file.write_text("first\n")
    credential = Credential(file=file)
    assert credential.read() == "first"
    file.write_text("second\r\n")
    assert credential.read() == "second"
    monkeypatch.setenv("SOME_TOKEN", "third")
    assert Credential(env="SOME_TOKEN").read() == "third"


def test_a_credential_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match="UNSET_TOKEN is not set"):
        Credential(env="UNSET_TOKEN").read()
    with pytest.raises(UsageError, match="cannot read the credential file /nowhere/token"):
        Credential(file=Path("/nowhere/token")).read()


def test_no_credential_is_in_a_repr() -> None:
    assert "hunter2" not in repr(Credential(value="hunter2"))


@pytest.mark.parametrize(("text", "setting"), rows(__file__, "credentials"))
@pytest.mark.parametrize("source", rows(__file__, "unreadable_sources"))
def test_a_credential_that_cannot_be_read_is_named_by_its_setting(
    tmp_path: Path, text: str, setting: str, source: str
) -> None:
    file = tmp_path / "gitops-connect.toml"
    file.write_text(text.replace("SOURCE", source))
    (tmp_path / "bytes").write_bytes(b"hunter2\xe9")
    loaded = load_settings(file, {})
    spark, cluster = loaded.spark.options, loaded.clusters.get(ClusterName("local"))
    credentials = [loaded.state.key, loaded.repository.password, *spark.values()]
    credentials += [cluster.token, *cluster.headers.values()] if cluster else []
    (credential,) = [one for one in credentials if one is not None]
    with pytest.raises(UsageError) as raised:
        credential.read()
    assert str(raised.value).startswith(f"{file}: {setting}: ")
    assert "hunter2" not in str(raised.value)
    assert "0xe9" not in str(raised.value)


CLUSTERS = """
[clusters.local]
url = ["http://a:8083"]
strimzi = ["my-connect", "my-mirror"]
[clusters.prod]
url = ["http://b:8083"]
"""


def test_the_options_for_strimzi_resources(tmp_path: Path) -> None:
    text = CLUSTERS + '[strimzi]\nversion = "0.45.1"\nauto_restart = true\napi_groups = ["a.b"]\n'
    text += '[strimzi.placeholders]\n"strimzienv:" = "env:"\n'
    names = dict.fromkeys(("my-connect", "my-mirror"), ClusterName("local"))
    expected = StrimziOptions(
        StrimziVersion(0, 45), names, {"strimzienv:": "env:"}, auto_restart=True, api_groups=("a.b",)
    )
    assert load(tmp_path, text).strimzi_options == expected
    assert load(tmp_path, CLUSTERS).strimzi_options.version == NEWEST > StrimziVersion(0, 49)


def test_other_branches_are_accepted(tmp_path: Path) -> None:
    for name in ("", "offsets", "main-offsets", "offsets/main", "headsman"):
        assert load(tmp_path, f'[strimzi]\noutput_branch = "{name}"\n').strimzi.output_branch == name
