"""What the product does not serve: the papers' experiments, and bounds that only they use.

In the repository and in the tests, not in the installed package. It imports `scoring`; nothing
imports it.
"""
