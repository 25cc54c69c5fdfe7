"""From a commit to a changed connector, through the command line, on the stand-in and on a real Connect."""
