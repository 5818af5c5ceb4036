"""Pages: each view loads, asks `access`, reads through `queries`, writes through `pipeline`."""
