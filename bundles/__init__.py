"""Competitions as files: Holdfast's own bundles, and those of Kaggle and Codabench.

Server and command line read them by the same code. It knows neither of them: what comes in are
bytes, what goes out are plain values and `BundleError`s that name file, line and what was expected.
Nothing that a bundle brings is ever run.
"""
