"""The Connect REST API: transport, wire format, client."""
