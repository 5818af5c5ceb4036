"""A public log that nobody can rewrite unseen, as pure functions.

`merkle` hashes entries into a tree and proves what is in it (RFC 6962, C2SP tlog-tiles); `notes`
signs its heads (C2SP signed-note, tlog-checkpoint, tlog-cosignature); `leaves` says what an entry
may hold, and `receipts` is the promise that one will follow. It needs the standard library and
`cryptography`.
"""
