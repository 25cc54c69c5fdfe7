"""The whole way, from a commit to a changed connector, through the command line: over the stand-in and the real one."""
