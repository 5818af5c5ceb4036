"""Competitions to try everything with: three on real data that scikit-learn ships."""
