"""What a browser needs to check a prediction file before it is sent (`static/js/check.js`)."""

from dataclasses import asdict
from typing import Any

from leaderboard.models import FileRole, Round, Team
from leaderboard.queries.competitions import schema_of
from scoring.predictions.limits import Limits
from scoring.predictions.source import MAGIC
from scoring.wording import PHRASES, REJECTIONS


def check_facts(round: Round, team: Team) -> dict[str, Any]:
    """Return columns, limits, where the ids are, all words, and the digests of the team's files.

    Nothing of it is hidden from a member: the ids are those of the sample file.
    """
    schema = schema_of(round)
    columns = schema.columns if schema else ()
    sample = round.origin.files.filter(role=FileRole.SAMPLE).first()
    return {
        "header": schema.header if schema else (),
        "columns": [
            {**each.to_json(), "facts": each.facts, "expected": each.expected} for each in columns
        ],
        "limits": asdict(Limits.of_upload(round.max_file_bytes)),
        "sample": sample and {"name": sample.name, "size": sample.size},
        "words": {code: each._asdict() for code, each in REJECTIONS.items()},
        "phrases": PHRASES,
        "magic": {beginning.hex(): name for beginning, name in MAGIC.items()},
        # Of several alike the first one counts: its answer is the one that is given again.
        "digests": {
            sha256: {"number": number, "status": status}
            for sha256, number, status in team.submissions.exclude(sha256="")
            .order_by("-number")
            .values_list("sha256", "number", "status")
        },
    }
