from __future__ import annotations

import pytest

from gitops_connect.model.names import ClusterName
from gitops_connect.settings.kafka_clusters import kafka_of
from gitops_connect.settings.sections import ClusterSettings, KafkaSettings

OWN = KafkaSettings(("k1.example.com:9092", "k2.example.com:9092"))
EU = KafkaSettings(("EU.example.com:9092", "[2001:DB8::1]:9093"))
US = KafkaSettings(("us.example.com:9092", "eu.example.com:9092"))
CLUSTER = ClusterSettings(ClusterName("prod"), ("http://w:8083",), kafka=OWN, kafka_clusters={"eu": EU, "us": US})
FOUND = {"own": ("[clusters.prod.kafka]", OWN), "eu": ("[clusters.prod.kafka_clusters.eu]", EU), "none": None}
FOUND["us"] = ("[clusters.prod.kafka_clusters.us]", US)


@pytest.mark.parametrize(
    ("servers", "expected"),
    [
        ("", "own"),
        ("  ", "own"),
        ("k2.example.com:9092", "own"),
        ("other:1, K1.EXAMPLE.com:09092 ,", "own"),
        ("eu.example.com:9092", "eu"),
        ("us.example.com:9092", "us"),
        ("us.example.com:9092,k1.example.com:9092", "own"),
        ("SASL_SSL://eu.example.com:9092", "eu"),
        ("2001:db8::1:9093", "eu"),
        ("SSL://[2001:db8::1]:9093", "eu"),
        ("k1.example.com:9093", "none"),
        ("k1.example.com", "none"),
        ("evil.example.com:9092", "none"),
        ("http://evil/eu.example.com:9092", "none"),
        ("${file:/etc/kafka:servers}", "none"),
        ("********", "none"),
        (",", "none"),
    ],
)
def test_an_address_in_common_names_the_cluster(servers: str, expected: str) -> None:
    assert kafka_of(servers, CLUSTER) == FOUND[expected]


def test_without_settings_there_is_none() -> None:
    bare = ClusterSettings(ClusterName("prod"), ("http://w:8083",))
    assert kafka_of("", bare) is None
    assert kafka_of("k1.example.com:9092", bare) is None
