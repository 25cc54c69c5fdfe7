"""Reads Strimzi's `KafkaConnector` and `KafkaMirrorMaker2` resources as connectors and offset changes."""
