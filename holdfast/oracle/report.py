"""What an oracle's ledger says of itself; labels and secret have no part in it."""

from pathlib import Path
from typing import Any

from durable.watermark import Rewound, WatermarkAway
from holdfast import output
from holdfast.errors import Failure
from holdfast.oracle.engine import campaigns
from holdfast.oracle.ledger import Json, Ledger
from holdfast.oracle.reading import Reader
from holdfast.output import Column, Format

COLUMNS = [
    Column("campaign", "Campaign", lambda name: name or "(none)"),
    Column("questions", "Questions", "{:,}".format, numeric=True),
    Column("informative", "Informative", "{:,}".format, numeric=True),
    Column("gates", "Gates", "{:,}".format, numeric=True),
    Column("nats", "Nats told", "{:,.2f}".format, numeric=True),
]


def read(directory: Path, save: Path | None = None) -> Json:
    """Return the report; `save` is where the ledger is written to as it is published."""
    with Ledger.open_to_read(directory) as ledger:
        setup = ledger.setup
        if setup is None:
            raise Failure(f"The ledger in {directory} has not begun.")
        try:
            ledger.check(setup.uid, only_look=True)
        except (Rewound, WatermarkAway) as wrong:
            raise Failure(f"The ledger in {directory} is not to be trusted: {wrong}") from None
        reader, known, entries = Reader(setup), ledger.known(), list(ledger.entries())
        if save:
            with save.open("xb") as file:
                file.writelines(ledger.lines(setup))
    metric = setup.rules.metric
    return {
        "name": setup.name,
        "metric": metric and metric.name,
        "mechanism": setup.rules.mechanism.name,
        "limit": setup.terms.question_limit,
        **reader.exposure(entries),
        "guarantee": reader.guarantee(known),
        "left": reader.left(known),
        "campaigns": campaigns(reader, entries),
        "head": {"number": known.head.number, "hash": known.head.hash},
    }


def show(found: dict[str, Any], style: Format) -> None:
    """Print a report for people."""
    guarantee, left, head = found["guarantee"], found["left"], found["head"]
    output.say(f"{found['name']}: {found['metric']} by {found['mechanism']}", "bold")
    output.say(
        f"{guarantee['questions_text']} {found['informative']:,} said more than “no”; "
        f"{found['nats']:,.2f} nats were told."
    )
    output.say(guarantee["sentence"])
    if guarantee["half_width_at_end"] is not None:
        output.say(f"About ±{guarantee['half_width_at_end']:.2g} at the limit at this pace.")
    if left["answers"] is not None:
        unit = "passes" if found["mechanism"] == "sparse_validate" else "corrections"
        output.say(f"{left['answers']:,} {unit} left.")
    if left["gates"] is not None:
        output.say(f"Answers of gates left: {left['gates']:,}.")
    output.show(found["campaigns"], COLUMNS, style, "Nothing was asked yet.")
    output.say(f"Head of the chain: {head['number']} {head['hash'] or 'none yet'}")
