"""Parquet files, of which nothing is believed.

`table` makes the CSV text of one; `pages` looks first at what reading it would take, with `thrift`
for footers and headers and `delta` for texts that are written as differences.
"""

from scoring.predictions.parquet.table import ENCRYPTED, MAGIC, as_csv

__all__ = ["ENCRYPTED", "MAGIC", "as_csv"]
