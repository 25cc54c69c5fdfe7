"""The command line: one command a file, each a function of plain arguments that returns an exit code."""
