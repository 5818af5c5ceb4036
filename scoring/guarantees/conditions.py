"""Checks that guarantees share."""

from scoring.errors import ConditionError


def require(holds: bool, message: str) -> None:
    """Raise ConditionError with the message unless the condition holds."""
    if not holds:
        raise ConditionError(message)


def require_probability(**probabilities: float) -> None:
    """Require that each lies strictly between 0 and 1."""
    for name, value in probabilities.items():
        require(0 < value < 1, f"{name} must lie strictly between 0 and 1.")


def require_positive(**numbers: float) -> None:
    """Require that each is more than 0."""
    for name, value in numbers.items():
        require(value > 0, f"{name} must be positive.")


def require_not_negative(**numbers: float) -> None:
    """Require that each is at least 0."""
    for name, value in numbers.items():
        require(value >= 0, f"{name} must not be negative.")
