"""OpenTelemetry traces of reconciliations: the spans, and their export."""
