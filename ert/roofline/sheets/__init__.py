"""What vendors state, whose sheet a host is, and results held against it."""
