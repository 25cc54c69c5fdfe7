"""The HDFS sink of Confluent, which stores its position in HDFS. `facts.yaml` has the facts."""
