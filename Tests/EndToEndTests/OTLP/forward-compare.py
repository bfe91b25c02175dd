"""Compares what one collector has with what another one got of it by forwarding.

  forward-compare.py EXPORT URL PERSON-TOKEN
  forward-compare.py EXPORT FILE

EXPORT has the records of the first collector, as `ws1ctl export --test --metrics` writes them. URL is the second
collector, which keeps what came as OTLP. FILE is what forward-receiver.py wrote, which keeps repeats. Every event, beacon
and log record must be there once (in FILE at least once), by its uid. Every value
of a sample must be there once (in FILE at least once), as the value of a point with the same metric, attributes and time.
It prints what it compared, and exits with 1 where something is missing or doubled. It needs nothing but Python.
"""

import collections
import json
import sys
import urllib.request

path, url = sys.argv[1:3]
token = sys.argv[3] if len(sys.argv) > 3 else None


def get(path):
    request = urllib.request.Request(url + path, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def stored(signal):
    """The groups of all devices, each with its resource."""
    if token is None:
        for line in open(url, encoding="utf-8"):
            item = json.loads(line)
            if item["signal"] == signal:
                yield item["group"]
        return
    cursor = ""
    while cursor is not None:
        devices = get("/api/v1/devices?state=otlp&limit=1000" + (f"&cursor={cursor}" if cursor else ""))
        for row in devices["items"]:
            position = ""
            while position is not None:
                page = get(f"/api/v1/devices/{row['id']}/otlp?signal={signal}&limit=1000"
                           + (f"&cursor={position}" if position else ""))
                for item in page["items"]:
                    yield from item[f"resource{signal.capitalize()}"]
                position = page["next"]
        cursor = devices["next"]


def plain(value):
    kind, content = next(iter(value.items()), ("", None))
    return int(content) if kind == "intValue" else content


def attributes(owner):
    return {pair["key"]: plain(pair["value"]) for pair in owner.get("attributes", [])}


def microseconds(text):
    """RFC 3339 with up to six digits of a second."""
    import datetime
    whole, _, rest = text.rstrip("Z").partition(".")
    seconds = datetime.datetime.fromisoformat(whole + "+00:00").timestamp()
    return int(seconds) * 1_000_000 + int((rest + "000000")[:6])


STREAMS = {"beacon": "status", "event": "event", "otlp-log": "event"}
# The events that the library records itself, by their types.
OURS = {"launch": "ws1.app.launch", "enrollment-call": "ws1.enrollment.call", "sdk-action": "ws1.sdk.action",
        "geofence": "ws1.geofence"}
expected, names, values = collections.Counter(), {}, set()
kinds = collections.Counter()
for line in open(path, encoding="utf-8"):
    record = json.loads(line)
    kind = record["kind"]
    kinds[kind] += 1
    if kind in STREAMS:
        uid = f"ws1:{record['device']}:{record['epoch']}:{STREAMS[kind]}:{record['number']}"
        if kind == "otlp-log":
            own = record["otlp"].get("attributes", {}).get("log.record.uid")
            uid = own if own else uid
        else:
            event = record.get("event", {})
            names[uid] = OURS.get(event.get("type"), event.get("name")) if kind == "event" else "ws1.beacon"
        expected[uid] += 1
    for point in record.get("metrics", []):
        values.add((record["device"], point["name"], json.dumps(point.get("attributes", {}), sort_keys=True),
                    microseconds(record["time"]), float(point["value"])))

came, wrong = collections.Counter(), []
for group in stored("logs"):
    for scope in group["scopeLogs"]:
        for log in scope["logRecords"]:
            uid = attributes(log)["log.record.uid"]
            came[uid] += 1
            if uid in names and log.get("eventName") != names[uid]:
                wrong.append((uid, names[uid], log.get("eventName")))
points = collections.Counter()
for group in stored("metrics"):
    device = attributes(group["resource"]).get("service.instance.id")
    for scope in group["scopeMetrics"]:
        for metric in scope["metrics"]:
            data = metric.get("gauge") or metric.get("sum") or {"dataPoints": []}
            for point in data["dataPoints"]:
                value = point.get("asDouble", point.get("asInt"))
                points[(device, metric["name"], json.dumps(attributes(point), sort_keys=True),
                        int(point["timeUnixNano"]) // 1000, float(value))] += 1

lost, doubled = expected - came, came - expected
if token is None:
    doubled = collections.Counter({uid: 1 for uid in came if uid not in expected})
missing = values - set(points)
again = {value: points[value] for value in values if points[value] > 1} if token is not None else {}
print(f"{dict(kinds)}; {sum(expected.values())} log records, {sum(came.values())} came; {len(values)} values, "
      f"{sum(points[value] for value in values)} points came, {len(missing)} missing")
if lost or doubled or missing or again or wrong or not expected or not values:
    sys.exit(f"lost: {sum(lost.values())} {list(lost)[:3]}; doubled: {sum(doubled.values())} {list(doubled)[:3]}; "
             f"points missing: {len(missing)} {sorted(missing)[:3]}; twice: {len(again)} {sorted(again)[:3]}; names: {wrong[:3]}")
