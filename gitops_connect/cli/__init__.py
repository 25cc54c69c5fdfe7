"""The command line: one module for each command, which is a function of plain arguments that returns an exit code."""
