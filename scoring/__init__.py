"""The numeric core: predictions, metrics, mechanisms and their guarantees.

Everything here is a function of its arguments: no Django, no files opened by path, no clock, no
global randomness. Losses run from 0 (perfect) to 1, lower is better, and are exact integers until
they are shown.
"""
