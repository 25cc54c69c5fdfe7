"""What tests share: builders of values, and stand-ins of what the program talks to."""
