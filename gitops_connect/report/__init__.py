"""values -> text, markdown, JSON, SARIF: pure renderers over one plan."""
