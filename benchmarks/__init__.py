"""The measurements of docs/contributing/performance.md; `make bench` runs them all, side by side in one run."""
