"""`holdfast organize`: running competitions from a terminal, or from a job that deploys them."""
