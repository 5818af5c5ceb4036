"""What was released, in plain words: the same sentence on the pages, in the API, on the console."""

from leaderboard.models import Kind, Status
from leaderboard.queries import Choice, Released, SubmissionRow, reach

KIND_WORDS = {
    Kind.CONFIRMED: "confirmed",
    Kind.CORRECTED: "corrected",
    Kind.IMPROVED: "new best",
    Kind.NOT_IMPROVED: "no improvement",
    Kind.PASS: "passed",
    Kind.FAIL: "not passed",
    Kind.EXHAUSTED: "share used up",
}

STATUS_WORDS = {
    Status.QUEUED: "Received. A worker takes it as soon as one is free.",
    Status.SCORING: "Being read and measured.",
    Status.FAILED: (
        "Something failed on our side. The organizer sees why and can score it again; "
        "you need not upload it again."
    ),
}


def summary(row: SubmissionRow) -> str:
    """One or two sentences: what happened, what it means, what can be done."""
    if row.released is not None:
        return _on_its_version(row, row.released)
    if row.status is Status.REJECTED:
        return rejected(row)
    return STATUS_WORDS[row.status]


def _on_its_version(row: SubmissionRow, released: Released) -> str:
    if row.waits_again:
        return (
            "The solution was corrected, and this file waits to be scored again. "
            f"On the earlier solution: {said(released)}"
        )
    if released.earlier:
        return f"{said(released)} This was on a solution that has been corrected since."
    return said(released)


def said(released: Released) -> str:
    """The mechanism's answer in words."""
    words = {
        Kind.CONFIRMED: _confirmed,
        Kind.CORRECTED: _corrected,
        Kind.IMPROVED: _improved,
        Kind.NOT_IMPROVED: _not_improved,
        Kind.EXHAUSTED: _exhausted,
        Kind.PASS: _passed,
        Kind.FAIL: _not_passed,
    }
    text = words[released.kind](released)
    return (
        f"{text} You asked this before; the answer is the stored one." if released.repeat else text
    )


def entered(choice: Choice) -> str:
    """What a team enters for the final scores."""
    is_, are = ("is", "are") if choice.may_change else ("was", "were")
    if len(choice.numbers) == 1:
        return f"Submission {choice.numbers[0]} {is_} entered for the final scores."
    if choice.numbers:
        *first, last = choice.numbers
        listed = f"{', '.join(map(str, first))} and {last}"
        return f"Submissions {listed} {are} entered for the final scores."
    if choice.lost:
        also = ": enter another one" if choice.may_change else ""
        return (
            f"Nothing {is_} entered for the final scores: the file that would stand in was lost "
            f"with a database{also}."
        )
    if choice.stand_in is None:
        return f"Nothing {is_} entered for the final scores: no submission of yours has an answer."
    chosen = "is chosen yet" if choice.may_change else "was chosen"
    return (
        f"Nothing {chosen}: submission {choice.stand_in}, your best released score, "
        "stands in for the final scores."
    )


def rejected(row: SubmissionRow) -> str:
    """The first kind of problem and how many more kinds there are. No quota was used."""
    first = str(row.problems[0]["message"]) if row.problems else "The file could not be read."
    more = len(row.problems) - 1
    noun = "kind of problem" if more == 1 else "kinds of problems"
    rest = f" {more} more {noun}." if more > 0 else ""
    return f"{first}{rest} Nothing was counted: mend the file and upload it again."


def _confirmed(released: Released) -> str:
    within = _within(released)
    return (
        f"Your {released.reference_kind} score {released.score} holds on the hidden rows{within}."
    )


def _corrected(released: Released) -> str:
    left = released.share_left or 0
    noun = "correction" if left == 1 else "corrections"
    return (
        f"Your {released.reference_kind} score did not hold. "
        f"On the hidden rows: about {released.score}{_within(released)}. "
        f"{left} {noun} left for your team."
    )


def _improved(released: Released) -> str:
    return f"New best: {released.score}. The board moves in steps of {released.step}."


def _not_improved(released: Released) -> str:
    return (
        f"No improvement by more than {released.step} over your {released.score}. "
        "Your place is unchanged."
    )


def _exhausted(released: Released) -> str:
    reference = (
        f" On the public rows this file scores {released.reference}, which is not certified."
        if released.reference and released.reference_kind == "public"
        else ""
    )
    return (
        "Your team has used its share of the hidden data. Files are still kept; "
        f"the final scoring counts them.{reference}"
    )


def _passed(released: Released) -> str:
    return "Passed: the predictions reach the mark on the hidden rows."


def _not_passed(released: Released) -> str:
    return "Not passed: the predictions do not reach the mark on the hidden rows."


def _within(released: Released) -> str:
    if released.certificate is None or released.value is None:
        return " (no certificate)"
    return f" (within {reach(released.certificate, released.value)})"
