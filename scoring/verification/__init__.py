"""Verify a competition's ledger from outside, from published documents alone.

    report = run.verify(lines)                                # chain, books, guarantees
    report = run.verify(lines, publications={1: file})        # and every answer, drawn again
    entries = ledgers.check_since(lines_kept_earlier, lines)  # nothing was rewritten since

docs/verification.md explains what each check shows and what none can show. `ledgers` needs the
standard library alone, so that a chain is checked without numpy.
"""
