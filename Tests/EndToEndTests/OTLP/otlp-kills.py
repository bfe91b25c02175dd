"""Sends log records and data points as OTLP until each request is answered with 200, however often the collector dies
meanwhile, and then compares what is stored.

  otlp-kills.py URL OTLP-TOKEN PERSON-TOKEN REQUESTS

Each log record has a `log.record.uid`: it must be stored once. A data point has none: it must be stored at least once.
It exits with 1 and says what is missing or doubled. It needs nothing but Python.
"""

import collections
import gzip
import http.client
import json
import sys
import time
import urllib.parse
import urllib.request
import uuid

url, token, person, count = sys.argv[1:]
address = urllib.parse.urlsplit(url)
LOGS, POINTS = 20, 20
RETRIED = {429, 502, 503, 504}
attempts = collections.Counter()
device, epoch = uuid.uuid4(), uuid.uuid4()


def post(path, body):
    """Sends until the answer is 200; the connection stays open from one request to the next."""
    global connection
    data = gzip.compress(json.dumps(body).encode())
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip", "Authorization": f"Bearer {token}"}
    while True:
        attempts["all"] += 1
        try:
            connection.request("POST", path, data, headers)
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            attempts["unanswered"] += 1
            connection.close()
            connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
            time.sleep(0.02)
            continue
        if answer.status == 200:
            if json.loads(text):
                sys.exit(f"{path}: {text.decode()}")
            return
        if answer.status not in RETRIED:
            sys.exit(f"{path}: {answer.status} {text.decode()}")
        time.sleep(0.05)


def resource(number):
    return {"attributes": [{"key": "host.id", "value": {"stringValue": f"host-{number % 3}"}}]}


def uid(request, number):
    # As our own collectors forward records, with numbers in a row; and as others have it.
    if request % 2 == 0:
        return f"ws1:{device}:{epoch}:event:{request * LOGS + number + 1}"
    return f"{uuid.uuid5(uuid.NAMESPACE_URL, f'{device} {request} {number}')}"


def logs(request):
    now = time.time_ns()
    return {"resourceLogs": [{"resource": resource(request), "scopeLogs": [{"scope": {"name": "kills"}, "logRecords": [
        {"timeUnixNano": str(now + number), "body": {"stringValue": f"{request} {number}"},
         "attributes": [{"key": "log.record.uid", "value": {"stringValue": uid(request, number)}}]}
        for number in range(LOGS)]}]}]}


def metrics(request):
    now = time.time_ns()
    return {"resourceMetrics": [{"resource": resource(request), "scopeMetrics": [{"metrics": [
        {"name": "kills.level", "gauge": {"dataPoints": [
            {"timeUnixNano": str(now), "asInt": str(request * POINTS + number),
             "attributes": [{"key": "n", "value": {"intValue": str(number)}}]} for number in range(POINTS)]}}]}]}]}


def get(path):
    while True:
        try:
            request = urllib.request.Request(url + path, headers={"Authorization": f"Bearer {person}"})
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except (OSError, http.client.HTTPException):
            time.sleep(0.1)


def stored(signal):
    for row in get("/api/v1/devices?state=otlp&limit=1000")["items"]:
        cursor = ""
        while cursor is not None:
            page = get(f"/api/v1/devices/{row['id']}/otlp?signal={signal}&limit=1000"
                       + (f"&cursor={cursor}" if cursor else ""))
            for item in page["items"]:
                yield from item[f"resource{signal.capitalize()}"]
            cursor = page["next"]


connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
uids, values = collections.Counter(), set()
for request in range(int(count)):
    post("/v1/logs", logs(request))
    uids.update(uid(request, number) for number in range(LOGS))
    if request % 10 == 9:
        # What a sender repeats although it was answered.
        repeated = logs(request)
        post("/v1/logs", repeated)
    post("/v1/metrics", metrics(request))
    values.update(str(request * POINTS + number) for number in range(POINTS))
print("sent", flush=True)
sys.stdin.readline()
came = collections.Counter(
    attribute["value"]["stringValue"] for group in stored("logs") for scope in group["scopeLogs"]
    for record in scope["logRecords"] for attribute in record["attributes"] if attribute["key"] == "log.record.uid")
points = {
    point["asInt"] for group in stored("metrics") for scope in group["scopeMetrics"] for metric in scope["metrics"]
    for point in metric["gauge"]["dataPoints"]}
print(f"{sum(uids.values())} log records, {sum(came.values())} stored; {len(values)} data points, {len(points)} stored; "
      f"{attempts['all']} requests, {attempts['unanswered']} unanswered")
lost, doubled = uids - came, came - uids
if lost or doubled or values - points:
    sys.exit(f"lost: {sum(lost.values())} {list(lost)[:3]}; doubled: {sum(doubled.values())} {list(doubled)[:3]}; "
             f"points lost: {len(values - points)}")
