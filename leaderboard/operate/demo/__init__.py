"""Two competitions on real data that scikit-learn ships, to try everything with."""
