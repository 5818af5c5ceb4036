"""Statements that Django composes once: composing one takes it ten times as long as running it.

They are for what runs under a lock that others wait for, and for what every page and every
question of a waiting client asks; elsewhere querysets do.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cache, wraps
from inspect import signature
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from django.db import DEFAULT_DB_ALIAS, NotSupportedError, OperationalError, connections
from django.db.models import Expression, Field, JSONField, Model, QuerySet, query
from django.db.models.sql import UpdateQuery
from django.db.transaction import TransactionManagementError

P = ParamSpec("P")
Row = TypeVar("Row")
_Fields = tuple["Field[Any, Any]", ...]

_PLAIN: Final = frozenset({int, float, bool, str, type(None)})
_BITS: Final = 63
_related_populators: Any = query.get_related_populators


def prepared(build: Callable[P, QuerySet[Any, Row]]) -> Callable[P, list[Row]]:
    """Return a function that returns the rows of a queryset, which is built only once.

    `build` gets a place for each of its arguments, to compare columns with and for nothing else.
    Calls put values there, which are numbers, texts or moments, such as keys, and never None; or
    a list of them, with one of which a column is compared by `__in`.
    """
    rows_of = _composed(build)

    @wraps(build)
    def rows(*args: P.args, **kwargs: P.kwargs) -> list[Row]:
        return rows_of(args, kwargs, None)

    return rows


def prepared_part(
    build: Callable[P, QuerySet[Any, Row]],
) -> Callable[Concatenate[int, int, P], list[Row]]:
    """Return the like for a part of the rows: calls begin with the first one, and how many."""
    rows_of = _composed(build)

    @wraps(build)
    def rows(first: int, count: int, /, *args: P.args, **kwargs: P.kwargs) -> list[Row]:
        return rows_of(args, kwargs, (first, count))

    return rows


def _composed(build: Callable[..., QuerySet[Any, Row]]) -> Callable[..., list[Row]]:
    names = tuple(signature(build).parameters)

    @cache
    def compose(vendor: str) -> _Select:  # what it is made of depends on the vendor alone
        return _Select(build(*map(_Place, names)))

    def rows(
        args: Sequence[Any], kwargs: Mapping[str, Any], part: tuple[int, int] | None
    ) -> list[Row]:
        connection = connections[DEFAULT_DB_ALIAS]
        values = dict(zip(names, args, strict=False), **kwargs)
        if any(isinstance(each, int) and each.bit_length() > _BITS for each in values.values()):
            return []  # nothing equals what no column holds
        if [] in values.values():
            return []  # nothing is in an empty list
        return compose(connection.vendor).rows(values, connection, part)

    return rows


def prepared_update(
    build: Callable[P, tuple[QuerySet[Any, Any], dict[str, Any]]],
) -> Callable[P, int]:
    """Return a function that updates rows and returns how many, composed once as by `prepared`.

    `build` returns the rows, which are of one table, and what is written to them.
    """
    names = tuple(signature(build).parameters)
    changes_of: Callable[..., tuple[QuerySet[Any, Any], dict[str, Any]]] = build

    @cache
    def compose(vendor: str) -> tuple[str, Sequence[Any]]:
        rows, values = changes_of(*map(_Place, names))
        update: Any = rows.query.chain(UpdateQuery)
        update.add_update_values(values)
        sql, params = update.get_compiler(rows.db).as_sql()
        return sql, params

    @wraps(build)
    def run(*args: P.args, **kwargs: P.kwargs) -> int:
        connection = connections[DEFAULT_DB_ALIAS]
        sql, params = compose(connection.vendor)
        values = dict(zip(names, args, strict=False), **kwargs)
        with _cursor(connection) as cursor:
            cursor.execute(sql, _put(values, params, connection))
            return int(cursor.rowcount)

    return run


def insert_row(row: Model) -> None:
    """Insert a row that has no key yet, as its `save` does, and give it its key."""
    connection = connections[DEFAULT_DB_ALIAS]
    sql, fields = _insert(type(row), connection.vendor)
    values = [_stored(each, each.pre_save(row, True), connection) for each in fields]
    with _cursor(connection) as cursor:
        cursor.execute(sql, values)
        ((row.pk,),) = cursor.fetchall()
    row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS


def update_rows(model: type[Model], where: Mapping[str, Any], **values: Any) -> int:
    """Write values to the rows that have those in `where`; return how many there are."""
    connection = connections[DEFAULT_DB_ALIAS]
    sql, fields = _update(model, tuple(where), tuple(values), connection.vendor)
    given = zip(fields, (*values.values(), *where.values()), strict=True)
    with _cursor(connection) as cursor:
        cursor.execute(sql, [_stored(each, value, connection) for each, value in given])
        return int(cursor.rowcount)


def update_row(row: Model, *names: str) -> None:
    """Write these of a row's attributes to its columns."""
    update_rows(type(row), {"pk": row.pk}, **{name: getattr(row, name) for name in names})


def fill(owner: Model, name: str, rows: Sequence[Model]) -> None:
    """Keep rows as those of a reverse relation, as `prefetch_related` does."""
    relation: Any = getattr(owner, name)
    for row in rows:
        setattr(row, relation.field.name, owner)
    kept = relation.get_queryset()
    kept._result_cache, kept._prefetch_done = rows, True
    prefetched: dict[str, Any] = owner.__dict__.setdefault("_prefetched_objects_cache", {})
    prefetched[name] = kept


class _Place(Expression):
    """Where a statement takes a value: it stands for itself among the parameters."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        return "%s", [self]


class _Select:
    """The SQL of a queryset, and how it makes objects of what the database returns."""

    def __init__(self, rows: QuerySet[Any, Any]) -> None:
        compiler: Any = rows.query.get_compiler(rows.db)
        self.sql, self.params = compiler.as_sql()
        self.locks = rows.query.select_for_update
        columns = [column for column, *_ in compiler.select]
        self.converters = compiler.get_converters(columns).items()
        self.is_flat = issubclass(rows._iterable_class, query.FlatValuesListIterable)
        self.model: Any = None
        if issubclass(rows._iterable_class, query.ModelIterable):
            info = compiler.klass_info
            self.model = info["model"]
            self.own = slice(info["select_fields"][0], info["select_fields"][-1] + 1)
            self.names = frozenset(column.target.attname for column in columns[self.own])
            self.related = _related_populators(info, compiler.select, rows.db)

    def rows(
        self, values: dict[str, Any], connection: Any, part: tuple[int, int] | None
    ) -> list[Any]:
        if self.locks and not connection.in_atomic_block and connection.vendor != "sqlite":
            raise TransactionManagementError("Rows are locked in a transaction.")
        sql, params = self.sql, _put(values, self.params, connection)
        if any(isinstance(each, list) for each in params):
            sql, params = _spread(sql, params)
        if part is not None:
            first, count = part
            sql, params = f"{sql} LIMIT %s OFFSET %s", [*params, count, first]
        with _cursor(connection) as cursor:
            cursor.execute(sql, params)
            found = cursor.fetchall()
        return [self._object(self._converted(row, connection)) for row in found]

    def _converted(self, row: Sequence[Any], connection: Any) -> list[Any]:
        changed = list(row)
        for at, (converters, expression) in self.converters:
            for convert in converters:
                changed[at] = convert(changed[at], expression, connection)
        return changed

    def _object(self, row: list[Any]) -> Any:
        if self.model is None:
            return row[0] if self.is_flat else tuple(row)
        made = self.model.from_db(DEFAULT_DB_ALIAS, self.names, row[self.own])
        for each in self.related:
            each.populate(row, made)
        return made


def _cursor(connection: Any) -> Any:
    return _planned_once(connection) if connection.vendor == "postgresql" else connection.cursor()


@contextmanager
def _planned_once(connection: Any) -> Iterator[Any]:
    """Give a cursor whose statements PostgreSQL plans once for a connection, if settings let it.

    Planning takes it longer than running most of them. Raises OperationalError, as where the
    connection is lost, if a migration beside the running site changed what a statement returns.
    """
    with connection.cursor() as cursor:
        cursor.cursor = connection.Database.Cursor(connection.connection)
        try:
            yield cursor
        except NotSupportedError as error:
            connection.close()
            raise OperationalError("A prepared statement returns other types by now.") from error


def _put(values: Mapping[str, Any], params: Sequence[Any], connection: Any) -> list[Any]:
    """Put values into their places; moments as the database takes them."""
    adapt = connection.ops.adapt_datetimefield_value
    adapted = {
        name: adapt(value) if isinstance(value, datetime) else value
        for name, value in values.items()
    }
    return [adapted[each.name] if isinstance(each, _Place) else each for each in params]


def _spread(sql: str, params: Sequence[Any]) -> tuple[str, list[Any]]:
    """Return SQL with a mark for each value of a list, as `IN (%s)` needs them."""
    lists = [each if isinstance(each, list) else [each] for each in params]
    first, *rest = sql.split("%s")
    marked = (
        f"{', '.join(['%s'] * len(each))}{text}" for each, text in zip(lists, rest, strict=True)
    )
    return first + "".join(marked), [value for each in lists for value in each]


def _stored(field: "Field[Any, Any]", value: Any, connection: Any) -> Any:
    """Return a value as its column takes it; plain ones are so already, but for those of JSON."""
    if type(value) in _PLAIN and not isinstance(field, JSONField):
        return value
    return field.get_db_prep_save(value, connection)


@cache
def _insert(model: type[Model], vendor: str) -> tuple[str, _Fields]:
    meta: Any = model._meta
    quoted = connections[DEFAULT_DB_ALIAS].ops.quote_name
    fields = tuple(each for each in meta.local_concrete_fields if each is not meta.auto_field)
    columns = ", ".join(quoted(each.column) for each in fields)
    places = ", ".join(["%s"] * len(fields))
    table, key = quoted(meta.db_table), quoted(meta.pk.column)
    return f"INSERT INTO {table} ({columns}) VALUES ({places}) RETURNING {key}", fields  # noqa: S608


@cache
def _update(
    model: type[Model], where: tuple[str, ...], values: tuple[str, ...], vendor: str
) -> tuple[str, _Fields]:
    meta: Any = model._meta
    quoted = connections[DEFAULT_DB_ALIAS].ops.quote_name
    changed, known = (
        [meta.pk if each == "pk" else meta.get_field(each) for each in names]
        for names in (values, where)
    )
    changes = ", ".join(f"{quoted(each.column)} = %s" for each in changed)
    found = " AND ".join(f"{quoted(each.column)} = %s" for each in known)
    table, fields = quoted(meta.db_table), (*changed, *known)
    return f"UPDATE {table} SET {changes} WHERE {found}", fields  # noqa: S608
