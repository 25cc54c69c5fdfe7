"""The measurements of docs/performance.md; `make bench` runs them all, side by side in one run."""
