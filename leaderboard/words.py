"""What was released, in plain words: the same sentence on the pages, in the API, on the console."""

from collections.abc import Sequence

from leaderboard.models import Status
from leaderboard.queries import (
    BoardRow,
    Choice,
    GateAnswer,
    Guarantee,
    Interval,
    Released,
    Scale,
    SubmissionRow,
    reach,
)

# What a guarantee rests on where each team has its own, and the board is hidden until the end.
ASSUMPTION = "if teams don't share answers"
STATUS_WORDS = {
    Status.QUEUED: "Received. A worker takes it as soon as one is free.",
    Status.SCORING: "Being read and measured.",
    Status.FAILED: (
        "Something failed on our side. The organizer sees why and can score it again; "
        "you need not upload it again."
    ),
}


def summary(row: SubmissionRow) -> str:
    """Return one or two sentences: what happened, what it means, what can be done."""
    if row.released is not None:
        return _on_its_version(row, row.released)
    if row.answer is not None:
        return gated(row.answer)
    if row.status is Status.REJECTED:
        return rejected(row)
    return STATUS_WORDS[row.status]


def gated(answer: GateAnswer) -> str:
    """Return a gate's answer in words."""
    sentences = [f"{'Passed' if answer.passed else 'Failed'} the gate “{answer.gate}”."]
    sentences.append(answer.promise)
    if answer.is_repeat:
        sentences.append("Answered before: nothing was asked, and it took none of your quota.")
    if answer.earlier:
        sentences.append("This was on a solution that has been revised since.")
    return " ".join(sentences)


def _on_its_version(row: SubmissionRow, released: Released) -> str:
    text = said(released)
    if released.repeats is not None and not row.takes_quota:
        text += " It took none of your quota."
    if row.waits_again:
        return (
            "The solution was revised, and this file waits to be scored again. "
            f"On the earlier solution: {text}"
        )
    if released.earlier:
        return f"{text} This was on a solution that has been revised since."
    return text


def said(released: Released) -> str:
    """Return the mechanism's answer in words."""
    values = {
        "score": released.score,
        "step": released.step,
        released.reference_kind: released.reference,
        "left": _left(released),
    }
    sentences = [each.format(**values) for each in released.kind.select_sentences(values)]
    if released.repeats is not None:
        sentences.append(f"Same predictions as submission {released.repeats}, so the same result.")
    return " ".join(sentences)


def guarantee(row: BoardRow | Released) -> str:
    """Return how far the guarantee reaches: "±0.16", or "none"; nothing without a score."""
    if row.value is None:
        return ""
    return f"±{reach(row.certificate, row.value)}" if row.certificate else "none"


def guaranteed(row: BoardRow | Released, reads: Scale) -> str:
    """Return the stored interval of a released score in words."""
    if row.certificate is None:
        return "No guarantee"
    low, high = row.certificate.outward(max(reads.decimals, 2))
    return f"Guaranteed {low} to {high}"


def board_guarantee(found: Guarantee) -> str:
    """Return what the board promises now, or why it does not."""
    sentences = list[str]()
    if found.is_full:
        sentences += ["The limit is reached: no more files get an answer."]
        sentences += ["They are still kept, and the finals score them."]
    if found.interval is not None:
        sentences += [_known(found, found.interval)]
        sentences += ["The guarantee holds if teams don't share answers."] * found.by_team
        return " ".join(sentences)
    why = "These rows are too few for a guarantee"
    if found.fits:
        why = "Too many scores have been given out for a guarantee"
    sentences += [f"{why}; these are ordinary scores."]
    sentences += ["The finals use fresh rows."] * found.has_final_rows
    return " ".join(sentences)


def questions(found: Guarantee) -> str:
    """Return how many questions were answered, of how many, and what that will come to."""
    of_team = " of a team" if found.by_team else ""
    if found.limit is None:
        noun = "question" if found.answered == 1 else "questions"
        asked = f"{found.answered:,} {noun}{of_team} answered; there is no limit."
    else:
        asked = f"{found.answered:,} of {found.limit:,} questions{of_team} answered."
    if found.expected is None or found.now is None:
        return asked
    then = f"About {found.text_at_end}" if found.text_at_end else "No guarantee"
    return f"{asked} {then} at the end at this pace."


def listed(names: Sequence[str]) -> str:
    """Return "a", "a and b", "a, b and c"; nothing for nothing."""
    *first, last = names or ("",)
    return f"{', '.join(first)} and {last}" if first else last


def entered(choice: Choice) -> str:
    """Return in words what a team enters for the final scores."""
    is_, are = ("is", "are") if choice.may_change else ("was", "were")
    if len(choice.numbers) == 1:
        return f"Submission {choice.numbers[0]} {is_} entered for the final scores."
    if choice.numbers:
        numbers = listed(tuple(map(str, choice.numbers)))
        return f"Submissions {numbers} {are} entered for the final scores."
    if choice.lost:
        also = ": upload it again, or enter another one" if choice.may_change else ""
        return (
            f"Nothing {is_} entered for the final scores: the file that would stand in was lost "
            f"with a database{also}."
        )
    if choice.stand_in is None:
        return f"Nothing {is_} entered for the final scores: no submission of yours has an answer."
    chosen = "is chosen yet" if choice.may_change else "was chosen"
    return (
        f"Nothing {chosen}: submission {choice.stand_in}, your best so far, "
        f"{'will be used unless you select others' if choice.may_change else 'is used'}."
    )


def rejected(row: SubmissionRow) -> str:
    """Return the first kind of problem and how many more kinds there are. No quota was used."""
    first = str(row.problems[0]["message"]) if row.problems else "The file could not be read."
    more = len(row.problems) - 1
    noun = "kind of problem" if more == 1 else "kinds of problems"
    rest = f" {more} more {noun}." if more > 0 else ""
    return f"{first}{rest} Nothing was counted: fix the file and upload it again."


def _known(found: Guarantee, interval: Interval) -> str:
    low, high = interval.outward(len(found.text.partition(".")[2]))
    ends = f"between {low} and {high} ({100 * found.confidence:.4g} % confidence)"
    if not found.leads:
        return (
            f"A score of {found.score} would be known to {found.text}: "
            f"its expected value would be {ends}."
        )
    whose, who = ("team's best", "it has") if found.by_team else ("leading", "teams have")
    return (
        f"The {whose} score is known to {found.text}, however often {who} submitted: "
        f"its expected value is {ends}."
    )


def _left(released: Released) -> str | None:
    if released.share_left is None or released.unit is None:
        return None
    unit = released.unit.one if released.share_left == 1 else released.unit.several
    return unit.format(count=released.share_left)
