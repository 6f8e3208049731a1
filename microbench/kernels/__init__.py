"""Application kernels: problems with exact counts, an implementation, and an oracle. One file a family."""
