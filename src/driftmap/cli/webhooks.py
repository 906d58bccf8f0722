"""``--alert-webhook``: bodies of alerts by a template, and the observer that posts them."""

from __future__ import annotations

import contextlib
import json
import os
import string
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from driftmap.cli.errors import UserError, note, warn
from driftmap.cli.groups import Alerting
from driftmap.cli.session import Session
from driftmap.map import StreamMap
from driftmap.pipeline.observer import Observer, Update
from driftmap.sources.webhook import Webhook

SECRET = "DRIFTMAP_WEBHOOK_SECRET"
DRAIN_SECONDS = 3.0
"""How long the end of a run waits for alerts that are not delivered."""
TEMPLATES: Mapping[str, str] = {
    "json": '{"id": $id, "source": $source, "kind": $kind, "text": $text, "alert": $alert}',
    "slack": '{"text": $text}',
    "alertmanager": """\
[{"labels": {"alertname": "driftmap", "kind": $kind, "source": $source, "id": $id, "severity": "warning"},
  "annotations": {"summary": $text}}]""",
}
"""Bodies by name; each placeholder becomes a value in JSON, texts with their quotes."""
MOST_FEATURES = 3
"""Features that the text of an alert names, at most."""


def template(given: str) -> string.Template:
    """Return the template of a name or a file, or raise an error that says what is wrong with it."""
    text = TEMPLATES.get(given)
    if text is None:
        try:
            text = Path(given).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            known = ", ".join(TEMPLATES)
            raise UserError(f"--webhook-template {given!r} is none of {known}, and no file: {reason}") from error
    found, sample = string.Template(text), fields("x", {"row": 0, "time": None, "reach": 1.0, "features": []})
    try:
        json.loads(found.substitute(sample))
    except KeyError as error:
        known = ", ".join(f"${name}" for name in sample)
        raise UserError(f"--webhook-template {given}: there is no ${error.args[0]}; there are {known}") from error
    except ValueError as error:
        problem = "gives no JSON (placeholders are values, texts with their quotes)"
        raise UserError(f"--webhook-template {given}: {problem}: {error}") from error
    return found


def fields(source: str, alert: Mapping[str, Any]) -> dict[str, str]:
    """Return what placeholders stand for, as JSON, of an alert or a drift.

    >>> found = fields("t.csv", {"row": 7, "time": "noon", "reach": 4.0, "features": [{"name": "a", "value": 9.0}]})
    >>> found["id"], found["text"]
    ('"t.csv/novelty-7"', '"t.csv: row 7 (noon) is novel, with reach 4: a"')
    """
    kind = alert.get("kind", "novelty")
    row, when = alert["row"], "" if alert["time"] is None else f" ({alert['time']})"
    names = ", ".join(str(one["name"]) for one in alert["features"][:MOST_FEATURES])
    if kind == "drift":
        text = f"the rows since {alert['began']:,} differ from those before, seen at row {row:,}{when}"
    else:
        reach = "" if alert["reach"] is None else f", with reach {alert['reach']:.3g}"
        text = f"row {row:,}{when} is novel{reach}"
    text = f"{source}: {text}" + (f": {names}" if names else "")
    values = {"id": f"{source}/{kind}-{row}", "source": source, "kind": kind, "text": text, "row": row, "alert": alert}
    return {name: json.dumps(value) for name, value in values.items()}


class Notifying(Observer):
    """Posts each alert and each drift to a webhook."""

    def __init__(self, webhook: Webhook, body: string.Template, source: str) -> None:
        self._webhook, self._body, self._source = webhook, body, source

    def observe(self, update: Update, mapper: StreamMap) -> None:
        """Hand over the alerts and drifts, in the order of their rows."""
        records = [*(alert.as_json() for alert in update.alerts), *(drift.as_json() for drift in update.drifts)]
        for record in sorted(records, key=lambda one: one["row"]):
            self._webhook.put(self._body.substitute(fields(self._source, record)).encode())


def notify(current: Session, stack: contextlib.ExitStack, alerting: Alerting, source: str) -> None:
    """Let a run post its alerts, those first that were not delivered when it was saved."""
    saver, address = current.saver, alerting.alert_webhook
    body = template(alerting.webhook_template or "json")
    unsent = [] if saver is None else saver.state.unsent
    if address is None:
        if unsent:
            warn(f"{len(unsent):,} alerts of this run were not delivered: without --alert-webhook they are dropped")
        return
    webhook = Webhook(address, os.environ.get(SECRET), note)
    stack.callback(webhook.close, DRAIN_SECONDS)
    for text in unsent:
        webhook.put(text.encode())
    if saver is not None:
        saver.unsent = lambda: [one.decode() for one in webhook.pending()]
    current.observers.append(Notifying(webhook, body, source))
