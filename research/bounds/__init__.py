"""Bounds of the literature, one module per paper: each function with its formula and source.

All logarithms are natural unless a name says `log2`. Where a double would underflow, a function
returns the logarithm and says so. Functions raise ConditionError where their condition fails. The
bounds that the product shows are in `scoring.guarantees`.
"""
