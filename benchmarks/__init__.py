"""The benchmarks of docs/contributing/performance.md; `make bench` runs all of them."""
