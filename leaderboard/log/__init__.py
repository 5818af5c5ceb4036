"""The public log of each competition: what is written, outside copies, signed heads, receipts.

`entries` appends, in the transaction of a change; `leaves` says what entries there are; workers
copy them to a `journal` outside the database and sign `heads`; the web signs `receipts`.
"""
