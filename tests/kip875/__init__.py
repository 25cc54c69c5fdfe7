"""The test plan of KIP-875, line by line, on a real broker and worker."""
