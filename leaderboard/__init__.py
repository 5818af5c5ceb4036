"""The Holdfast server: a Django project and its one app."""

import gc

# What is imported stays. Python's own threshold of 700 new objects has it looked through so often
# that this takes a tenth of the time in which each process starts, and of that of each page.
gc.set_threshold(10_000, 20, 50)
