"""Archives: a competition with its submissions and ledgers, for another installation.

A zip archive of JSON Lines, one file for each table, of the stored files, and of a manifest with
the SHA-256 of each. An import writes all of it or nothing, and only what verifies. It is a copy
that answers nobody, until a worker has opened the secrets that came along (`organize.moves`).
"""

from __future__ import annotations

import hashlib
import json
import secrets
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO, Any, BinaryIO, Final, cast

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.files.base import ContentFile, File
from django.core.files.storage import default_storage
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from bundles.errors import BundleError
from bundles.folders import Folder, Limits, open_zip
from leaderboard.access import Right, check_right
from leaderboard.errors import Refused
from leaderboard.ledger import arrivals, lock
from leaderboard.ledger.archives import (
    TABLES,
    ArchiveDamaged,
    Loading,
    check_name,
    document,
    files_of,
    name_of,
    parse_row,
    rows_of,
)
from leaderboard.ledger.watermark import Head, WatermarkAway
from leaderboard.log import entries
from leaderboard.models import (
    Audience,
    Competition,
    Event,
    EventCount,
    EventKind,
    Handover,
    LogEntry,
    Organizer,
    OutboxCursor,
    Role,
    User,
)
from leaderboard.models.round import new_uid
from leaderboard.notify import events
from leaderboard.operate.archived_people import make_people, marks, people_of, person_row
from leaderboard.operate.verification import CannotVerify, verify_ledger
from leaderboard.organize.fields import RESERVED_SLUGS
from leaderboard.organize.moves import check_finals_rest
from leaderboard.organize.people import may_organize_at_all
from leaderboard.organize.same_rows import claim_rows
from leaderboard.pipeline.handover import expect
from leaderboard.pipeline.publish import to_publish
from leaderboard.platform.files import open_stored
from leaderboard.platform.reading import one_moment
from leaderboard.platform.scratch import scratch_file
from leaderboard.queries.audit import ALL, audit_csv
from scoring.errors import HoldfastError

FORMAT: Final = "holdfast-archive"
VERSION: Final = 1
MANIFEST: Final = "archive.json"
PEOPLE: Final = "tables/people.jsonl"
ROLES: Final = "tables/roles.jsonl"
SECRETS: Final = "secrets.box"
_FETCHED: Final = 1000


def export_archive(
    competition: Competition, *, by: User | None, with_people: bool = False
) -> IO[bytes]:
    """Return the competition's archive as an open zip file. Raises Refused.

    with_people: names and mail addresses of the members, for owners to take along where they may;
    else accounts at the other installation stand for them without a name. If the competition was
    moved, its secrets come along, sealed to the other vault.
    """
    check_right(by, competition, Right.OWN)
    if competition.opened_by_organizer_at is None or not competition.ledgers.exists():
        raise Refused("not_movable")
    with transaction.atomic():
        lock.lock(competition)  # nothing is taken from a database that lacks answers
    file = scratch_file()
    # Uploads and answers go on meanwhile; a row of one table has all that others say of it.
    try:
        with one_moment():
            _write_archive(file, Competition.objects.get(pk=competition.pk), with_people)
    except BaseException:
        file.close()
        raise
    with transaction.atomic():
        events.record(
            competition,
            EventKind.EXPORTED,
            actor=by,
            audience=Audience.ORGANIZERS,
            what="archive",
            with_people=with_people,
        )
    file.seek(0)
    return file


def _write_archive(file: IO[bytes], competition: Competition, with_people: bool) -> None:
    """Write everything of a competition, as one moment has it. Raises Refused."""
    check_finals_rest(competition)
    ledgers = competition.ledgers.order_by("pk")
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        writing = _Writing(archive)
        for model in TABLES:
            rows = rows_of(competition, model)
            if model is Event and not with_people:
                rows = rows.exclude(audience=Audience.ORGANIZERS)  # they may tell addresses
            writing.rows(name_of(model), rows.iterator(chunk_size=_FETCHED))
        people = people_of(competition)
        writing.lines(PEOPLE, (person_row(each, with_people) for each in people))
        writing.lines(ROLES, ({"mark": each} for each in marks(competition)))
        handover = competition.handovers.filter(is_incoming=False, failure="").first()
        if handover is not None and handover.file:
            writing.stored(SECRETS, handover.file.name or "")
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "slug": competition.slug,
            "title": competition.title,
            "written_at": timezone.now().isoformat(timespec="seconds"),
            "ledgers": {each.uid: [each.entries, each.head_hash] for each in ledgers},
            "sealed_to": handover.destination if handover and handover.file else "",
            "files": writing.hashes,
        }
        archive.writestr(MANIFEST, json.dumps(manifest, indent=1))


def import_archive(
    file: File[bytes] | BinaryIO, *, by: User, slug: str = "", with_people: bool = False
) -> Competition:
    """Write an archive's competition, as a copy that answers nobody. Raises Refused, having
    written nothing.

    with_people: believe the names and mail addresses in it, as an operator's import does. Anybody
    can write an archive that puts people into teams, and takes names before others do: in all other
    imports, accounts without a name stand for everybody.

    Everything that can be checked without its secrets is. Where they come along for this
    installation, a worker opens them, and its ledgers go on where they were.
    """
    if not may_organize_at_all(by):
        raise Refused("not_allowed", variant="organizer")
    with _told():
        reading = _Reading(open_zip(cast(BinaryIO, file), _limits()))
    with _told(), reading.all_or_nothing():
        slug = slug or reading.manifest["slug"]
        competition = reading.load(by, slug, with_people or by.is_superuser)
        _check(competition)
        _own(competition, by)
        _read_events(competition, by)
        reading.take_roles(competition)
        events.record(
            competition,
            EventKind.IMPORTED,
            actor=by,
            audience=Audience.ORGANIZERS,
            source="archive",
            written_at=reading.manifest["written_at"],
        )
        reading.take_secrets(competition, by)
        with suppress(WatermarkAway):  # it can be read, and a worker writes it
            for ledger in competition.ledgers.all():
                arrivals.mark(ledger)
    return competition


@dataclass
class _Writing:
    """An archive that is written, with the hashes of what is in it."""

    archive: zipfile.ZipFile
    hashes: dict[str, str] = field(default_factory=dict)

    def lines(self, name: str, documents: Iterable[dict[str, Any]]) -> None:
        digest = hashlib.sha256()
        with self.archive.open(name, "w", force_zip64=True) as out:
            for each in documents:
                line = json.dumps(each, separators=(",", ":")).encode() + b"\n"
                digest.update(line)
                out.write(line)
        self.hashes[name] = digest.hexdigest()

    def rows(self, name: str, rows: Iterable[Any]) -> None:
        """Write rows, and then the files that they name."""
        wanted = list[tuple[str, str]]()

        def documents() -> Iterator[dict[str, Any]]:
            for row in rows:
                found = document(row)
                for attribute, stored in files_of(row):
                    inside = f"stored/{row._meta.model_name}-{row.pk}-{attribute}"
                    is_there = default_storage.exists(stored)
                    found[attribute] = inside if is_there else ""
                    if is_there:
                        wanted.append((inside, stored))
                yield found

        self.lines(name, documents())
        for inside, stored in wanted:
            self.stored(inside, stored)

    def stored(self, name: str, stored: str) -> None:
        digest = hashlib.sha256()
        with open_stored(stored) as file, self.archive.open(name, "w", force_zip64=True) as out:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
                out.write(chunk)
        self.hashes[name] = digest.hexdigest()


@dataclass
class _Reading:
    """An archive that is read, with the names of the files that were stored for it."""

    folder: Folder
    made: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Read the manifest. Raises BundleError and ArchiveDamaged."""
        self.manifest = self._manifest()
        for uid, (number, digest) in self.manifest["ledgers"].items():
            arrivals.check_is_new(uid, Head(number, digest))

    def _manifest(self) -> dict[str, Any]:
        if MANIFEST not in self.folder:
            raise ArchiveDamaged(f"This is no archive: {MANIFEST} is missing.")
        try:
            found: dict[str, Any] = json.loads(self.folder.read(MANIFEST))
            if (found["format"], found["version"]) != (FORMAT, VERSION):
                told = f"{found['format']} {found['version']}"[:60]
                raise ArchiveDamaged(f"{MANIFEST}: “{told}” is not known here, {FORMAT} 1 is.")
            for name in ("slug", "title", "written_at", "sealed_to"):
                found[name] = str(found[name])
            heads = {str(uid): (int(n), str(h)) for uid, (n, h) in found["ledgers"].items()}
            hashes = {str(name): str(digest) for name, digest in found["files"].items()}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ArchiveDamaged(f"{MANIFEST} is not what an archive has there.") from None
        for uid in heads:
            check_name(uid, MANIFEST)
        for name in self.folder.names:
            if name != MANIFEST and name not in hashes:
                raise ArchiveDamaged(f"{name}: the manifest doesn't name it.")
        return found | {"ledgers": heads, "files": hashes}

    def read(self, name: str) -> bytes:
        """Return a file that is what the manifest says. Raises ArchiveDamaged."""
        digest = self.manifest["files"].get(name)
        if digest is None or name not in self.folder:
            raise ArchiveDamaged(f"{name} is missing.")
        content = self.folder.read(name)
        if hashlib.sha256(content).hexdigest() != digest:
            raise ArchiveDamaged(f"{name} is not what was written: its SHA-256 differs.")
        return content

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Write in one transaction; where that fails, delete what was stored."""
        try:
            with transaction.atomic():
                yield
        except BaseException:
            for name in self.made:
                default_storage.delete(name)
            raise

    def load(self, by: User, slug: str, with_people: bool) -> Competition:
        """Write all tables. Raises ArchiveDamaged and Refused."""
        _check_slug(slug)
        people = make_people(self._rows(PEOPLE), None if with_people else by)
        loading = Loading(people, self._store)
        changed = {"slug": slug, "family": ""}
        if not self.manifest["ledgers"]:  # then it has no log either, and may be here already
            changed["uid"] = new_uid()
        created = loading.load(Competition, self._lines(Competition), **changed)
        if len(created) != 1:
            raise ArchiveDamaged(f"{name_of(Competition)}: a single line was expected.")
        competition = cast(Competition, created[0])
        # Under other installations' slugs and reasons these would be wrong, so they begin anew.
        paused = {"paused_at": None, "paused_for": "", "paused_because": ""}
        for model in list(TABLES)[1:]:
            loading.load(model, self._lines(model), **(paused if model is _LEDGER else {}))
        loading.finish()
        last = Event.objects.filter(competition=competition).order_by("number").last()
        number = last.number if last else 0
        count = EventCount.objects.create(competition=competition, number=number)
        try:
            entries.take_over(count)
        except ValueError as error:
            raise ArchiveDamaged(f"{name_of(LogEntry)}: {error}") from None
        # What happened there was told there: no mail and no webhook tells it again.
        OutboxCursor.objects.create(competition=competition, number=number)
        heads = {each.uid: (each.entries, each.head_hash) for each in competition.ledgers.all()}
        if heads != self.manifest["ledgers"]:
            raise ArchiveDamaged("Its ledgers are not those that the manifest names.")
        arrivals.keep_as_copies(competition)
        # A publication that was ordered and not written yet needs the secrets: order it again.
        unwritten = to_publish().filter(ledger__competition=competition).values("ledger")
        competition.rounds.filter(ledger__in=unwritten).update(publication_at=None)
        competition.refresh_from_db()
        return competition

    def take_roles(self, competition: Competition) -> None:
        """Keep whoever ran the competition there out of its teams here. Raises ArchiveDamaged."""
        if ROLES not in self.manifest["files"]:
            return  # of a version that wrote none
        for number, line in enumerate(self.read(ROLES).splitlines(), 1):
            where = f"{ROLES}, line {number}"
            row = parse_row(line, where)
            check_name(row.get("mark"), where)
            events.record(
                competition,
                EventKind.ORGANIZER_ADDED,
                audience=Audience.ORGANIZERS,
                subjects={"mark": row["mark"]},
                role="at the installation that it comes from",
            )

    def take_secrets(self, competition: Competition, by: User) -> None:
        """Have a worker open the secrets, where they came along. Raises Refused."""
        if SECRETS not in self.folder:
            return
        asks = Q(finals_started_at=None) | Q(practice_opened_at__isnull=False)
        for round in competition.rounds.filter(asks, continues=None):
            if (holdout := round.active_holdout) is not None:
                claim_rows(round, holdout.row_ids_digest)
        box = ContentFile(self.read(SECRETS), name=f"{competition.slug}.box")
        handover = Handover.objects.create(
            competition=competition,
            is_incoming=True,
            destination=self.manifest["sealed_to"][:64],
            file=box,
            ordered_by=by,
        )
        self.made.append(handover.file.name or "")
        expect(handover)

    def _lines(self, model: Any) -> list[bytes]:
        if model is LogEntry and name_of(model) not in self.manifest["files"]:
            return []  # of a version that kept no log
        return self.read(name_of(model)).splitlines()

    def _rows(self, name: str) -> list[dict[str, Any]]:
        try:
            rows = [json.loads(line) for line in self.read(name).splitlines()]
            return [row | {"id": int(row["id"])} for row in rows]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise ArchiveDamaged(f"{name}: people with an id were expected.") from None

    def _store(self, name: object, where: str) -> str:
        if not isinstance(name, str) or not name.startswith("stored/"):
            raise ArchiveDamaged(f"{where}: a stored file of the archive was expected.")
        folder = {"submission": "submissions", "holdout": "publications"}
        kind = folder.get(name.removeprefix("stored/").partition("-")[0], "files")
        content = self.read(name)
        sha256 = self.manifest["files"][name]
        kept = f"{kind}/{sha256[:2]}/{sha256}-{secrets.token_hex(8)}"
        stored = default_storage.save(kept, ContentFile(content))
        self.made.append(stored)
        return stored


_LEDGER: Final = next(model for model in TABLES if model.__name__ == "Ledger")


def _own(competition: Competition, by: User) -> None:
    """Give the competition to who imports it, unless the person is in one of its teams."""
    if competition.memberships.filter(user=by).exists():
        raise Refused("invalid", field="bundle", variant="takes_part", names=by.username)
    Organizer.objects.create(competition=competition, user=by, role=Role.OWNER)
    events.record(
        competition,
        EventKind.ORGANIZER_ADDED,
        actor=by,
        audience=Audience.ORGANIZERS,
        subjects={"person": by.uid},
        role=Role.OWNER,
    )


def _check(competition: Competition) -> None:
    """Refuse a copy whose ledgers don't verify. Raises ArchiveDamaged."""
    for ledger in competition.ledgers.order_by("pk"):
        try:
            report = verify_ledger(ledger, files=False).report
        except (CannotVerify, HoldfastError) as error:
            raise ArchiveDamaged(f"The ledger does not verify. {error}") from None
        if report.difference is not None:
            raise ArchiveDamaged(f"The ledger does not verify. {report.difference}")


def _read_events(competition: Competition, by: User) -> None:
    """Read all events as an owner may, so that each can be shown. Raises ArchiveDamaged."""
    try:
        for _ in audit_csv(competition, by, ALL):
            pass
    except (AttributeError, LookupError, TypeError, ValueError):
        raise ArchiveDamaged(f"{name_of(Event)}: an event can't be read.") from None


def _check_slug(slug: str) -> None:
    field = Competition._meta.get_field("slug")
    try:
        field.clean(slug, None)
    except ValidationError:
        raise Refused("invalid", field="slug", message="Use letters, digits and hyphens.") from None
    if slug in RESERVED_SLUGS:
        raise Refused("invalid", field="slug", variant="slug_reserved", slug=slug)
    if Competition.objects.filter(slug=slug).exists():
        message = f"There is a competition “{slug}” already. Give another short name."
        raise Refused("invalid", field="slug", message=message)


def _limits() -> Limits:
    return Limits(unpacked=settings.ARCHIVE_MAX_BYTES, files=1_000_000, ratio=1_000)


@contextmanager
def _told() -> Iterator[None]:
    """Turn what is wrong with an archive into a refusal of it."""
    try:
        yield
    except (ArchiveDamaged, BundleError) as error:
        raise Refused("invalid", field="bundle", message=str(error)) from None
    except (IntegrityError, OverflowError):
        message = "The rows of the archive contradict each other, or some are here already."
        raise Refused("invalid", field="bundle", message=message) from None
    except WatermarkAway as away:
        raise Refused("watermark_away") from away
