"""The Celery application. Its messages carry the id of the request that caused them."""

import importlib
import os
import time
from typing import Any

from celery import Celery
from celery.signals import (
    after_task_publish,
    before_task_publish,
    heartbeat_sent,
    setup_logging,
    task_postrun,
    task_prerun,
    worker_init,
    worker_process_init,
    worker_ready,
    worker_shutdown,
)
from django.db import close_old_connections, connections
from kombu import Exchange, Queue

from leaderboard.platform import broker, collection, health, logs

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaderboard.settings")

_noted: dict[str, float] = {}

broker.install()
app = Celery("holdfast")
app.config_from_object("django.conf:settings", namespace="CELERY")
# A worker that isn't told which takes from all.
app.conf.task_queues = [Queue(name, Exchange(name), routing_key=name) for name in broker.QUEUES]
app.conf.task_default_queue = broker.QUEUE
app.conf.task_routes = broker.ROUTES
app.autodiscover_tasks(["leaderboard"])


@setup_logging.connect
def _log_as_django_does(**kwargs: Any) -> None:
    """Keep Celery, by listening, from adding formats of its own to our settings."""


@before_task_publish.connect
def _send_request_id(headers: dict[str, Any], **kwargs: Any) -> None:
    request_id = logs.bound("request_id")
    if request_id is not None:
        headers["request_id"] = request_id


@worker_init.connect
def _get_ready_to_fork(**kwargs: Any) -> None:
    """Import what pyarrow would import in each process for its first array; share no connection."""
    importlib.import_module("pandas")
    connections.close_all()


@worker_process_init.connect
def _settle(**kwargs: Any) -> None:
    collection.settle()


@task_prerun.connect
def _close_old_connections(**kwargs: Any) -> None:
    """Close those that are broken, or were kept long enough, as requests do."""
    close_old_connections()


@task_prerun.connect
def _begin_log_context(task: Any, kwargs: dict[str, Any], **more: Any) -> None:
    logs.begin(
        task=task.name.rpartition(".")[2],
        request_id=task.request.get("request_id"),
        submission_id=kwargs.get("submission_id"),
    )


@task_postrun.connect
def _forget(**kwargs: Any) -> None:
    logs.end()


@after_task_publish.connect(sender="leaderboard.tasks.sweep")
def _note_that_a_sweep_was_asked_for(**kwargs: Any) -> None:
    health.note_sweep_sent()


@heartbeat_sent.connect
def _note_that_it_runs(sender: Any, **kwargs: Any) -> None:
    """Slow Celery's heart down: every two seconds, and faster on request, is too often.

    Those that only send mails and webhooks are none of the workers that submissions wait for.
    """
    now = time.monotonic()
    if broker.QUEUE not in app.amqp.queues.consume_from:
        return
    if now - _noted.get("at", -health.WORKER_SECONDS) >= health.WORKER_SECONDS:
        _noted["at"] = now
        health.note_worker(sender.eventer.hostname)


@worker_shutdown.connect
def _note_that_it_ends(sender: Any, **kwargs: Any) -> None:
    health.note_worker_gone(sender.hostname)


@worker_ready.connect
def _answer_the_doctor(**kwargs: Any) -> None:
    """Register the question that the doctor asks a worker."""
    from leaderboard.operate.doctor import worker  # noqa: F401
