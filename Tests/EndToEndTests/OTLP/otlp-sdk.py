"""Sends logs and metrics with OpenTelemetry's SDK for Python, reads them back from the collector's API, and compares
every log record and data point.

  otlp-sdk.py URL OTLP-TOKEN PERSON-TOKEN protobuf|json
  otlp-sdk.py URL OTLP-TOKEN PERSON-TOKEN protobuf|json AGENT-URL LINES

In the second form the agent is sent to, which is killed meanwhile. An export that fails is repeated, so an item may be
there twice. Once a line comes on its input, data points are compared at the collector, and log records with LINES, a
file with lines of `ws1log show --json`.

It exits with 1 and says what differs. What was sent is encoded by opentelemetry-proto of PyPI, whatever the exporter
sends; what the API gives is parsed by it. So no line of the collector's code takes part in the comparison.
"""

import base64
import collections
import json
import logging
import sys
import time
import urllib.request

from google.protobuf import json_format
from opentelemetry import trace
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.proto.logs.v1.logs_pb2 import ResourceLogs
from opentelemetry.proto.metrics.v1.metrics_pb2 import ResourceMetrics
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import (
    AlwaysOnExemplarFilter, Counter, Histogram, MeterProvider, ObservableCounter, UpDownCounter)
from opentelemetry.sdk.metrics.export import AggregationTemporality, PeriodicExportingMetricReader
from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation, View
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider

url, token, person, encoding, *agent = sys.argv[1:]
receiver, lines_file = agent or (url, None)
if encoding == "json":
    from opentelemetry.exporter.otlp.common.http import Compression
    from opentelemetry.exporter.otlp.json.http._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.json.http.metric_exporter import OTLPMetricExporter
else:
    from opentelemetry.exporter.otlp.proto.http import Compression
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

headers = {} if agent else {"Authorization": f"Bearer {token}"}
sent_logs, sent_metrics, results = [], [], []


def exported(export):
    """An agent is killed at any moment; whoever has no queue of its own exports again."""
    if agent:
        # So that kills come between exports and in them.
        time.sleep(0.2)
    while True:
        result = export()
        if not agent or result.name == "SUCCESS":
            return result
        time.sleep(0.05)


class Logs(OTLPLogExporter):
    def export(self, batch):
        result = exported(lambda: super(Logs, self).export(batch))
        sent_logs.append(encode_logs(batch))
        results.append(result.name)
        return result


class Metrics(OTLPMetricExporter):
    def export(self, metrics_data, *arguments, **more):
        result = exported(lambda: super(Metrics, self).export(metrics_data, *arguments, **more))
        sent_metrics.append(encode_metrics(metrics_data))
        results.append(result.name)
        return result


def resource(name):
    return Resource.create({
        "host.id": f"host-{name}-{encoding}", "host.name": f"{name}.example", "service.name": "shop",
        "service.version": "1.2.3", "os.type": "linux", "worker.numbers": [1, 2, 3]})


tracer = TracerProvider().get_tracer("tracer")


def send_logs(name, compression):
    provider = LoggerProvider(resource=resource(name))
    exporter = Logs(endpoint=f"{receiver}/v1/logs", headers=headers, compression=compression)
    provider.add_log_record_processor(BatchLogRecordProcessor(exporter, max_export_batch_size=100))
    for scope in ["first", "second"]:
        logger = provider.get_logger(scope, version="7", schema_url="https://opentelemetry.io/schemas/1.44.0",
                                     attributes={"scope.kind": scope})
        for number in range(130):
            with tracer.start_as_current_span("span"):
                logger.emit(LogRecord(
                    timestamp=1_760_000_000_000_000_000 + number, observed_timestamp=1_760_000_000_000_000_500 + number,
                    severity_number=SeverityNumber.WARN, severity_text="WARN",
                    event_name="shop.sale" if number % 10 == 0 else None,
                    body={"text": f"record {number} ö", "list": [1, 2.5, True, None, "x"], "bytes": b"\x00\xff"},
                    attributes={"n": number, "float": number / 3, "flag": True, "words": ["a", "b"],
                                "large": 2**62 + number}))
    provider.force_flush()
    provider.shutdown()


def send_metrics(name, compression, temporality):
    chosen = {kind: temporality for kind in [Counter, Histogram, UpDownCounter, ObservableCounter]}
    exporter = Metrics(endpoint=f"{receiver}/v1/metrics", headers=headers, compression=compression,
                       preferred_temporality=chosen)
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=3_600_000)
    provider = MeterProvider(
        resource=resource(name), metric_readers=[reader], exemplar_filter=AlwaysOnExemplarFilter(),
        views=[View(instrument_name="shop.exponential", aggregation=ExponentialBucketHistogramAggregation())])
    meter = provider.get_meter("meter", "3", schema_url="https://opentelemetry.io/schemas/1.44.0")
    counter = meter.create_counter("shop.sales", unit="{sale}", description="Sales")
    level = meter.create_up_down_counter("shop.stock", unit="{item}")
    histogram = meter.create_histogram("shop.duration", unit="s")
    exponential = meter.create_histogram("shop.exponential", unit="s")
    gauge = meter.create_gauge("shop.temperature", unit="Cel")
    for _ in range(3):
        with tracer.start_as_current_span("span"):
            for number in range(50):
                shop = {"shop": number, "name": f"shop {number}"}
                counter.add(number, shop)
                level.add(-number, shop)
                histogram.record(number / 7, shop)
                exponential.record((number + 1) ** 3 / 11, {"shop": number % 5})
                gauge.set(number * 1.5, shop)
        provider.force_flush()
    provider.shutdown()


def get(path):
    request = urllib.request.Request(url + path, headers={"Authorization": f"Bearer {person}"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def as_protobuf(value):
    """OTLP's JSON as protobuf's: identifiers in Base64."""
    if isinstance(value, list):
        return [as_protobuf(item) for item in value]
    if isinstance(value, dict):
        return {
            key: base64.b64encode(bytes.fromhex(item)).decode() if key in ("traceId", "spanId") else as_protobuf(item)
            for key, item in value.items()}
    return value


def stored(signal, message):
    found = []
    state = "" if agent else "state=otlp&"
    for device in get(f"/api/v1/devices?{state}limit=1000")["items"]:
        cursor = ""
        while cursor is not None:
            more = f"&cursor={cursor}" if cursor else ""
            page = get(f"/api/v1/devices/{device['id']}/otlp?signal={signal}&limit=1000{more}")
            for item in page["items"]:
                group = item[f"resource{signal.capitalize()}"][0]
                found.append(json_format.ParseDict(as_protobuf(group), message()))
            cursor = page["next"]
    return found


def one_log(group):
    """One ResourceLogs for each log record, as bytes that can be compared."""
    for scope in group.scope_logs:
        for record in scope.log_records:
            single = ResourceLogs(resource=group.resource, schema_url=group.schema_url)
            own = single.scope_logs.add(scope=scope.scope, schema_url=scope.schema_url)
            own.log_records.add().CopyFrom(record)
            yield single.SerializeToString(deterministic=True)


def one_point(group):
    for scope in group.scope_metrics:
        for metric in scope.metrics:
            kind = metric.WhichOneof("data")
            for point in getattr(metric, kind).data_points:
                single = ResourceMetrics(resource=group.resource, schema_url=group.schema_url)
                own = single.scope_metrics.add(scope=scope.scope, schema_url=scope.schema_url).metrics.add()
                own.CopyFrom(metric)
                del getattr(own, kind).data_points[:]
                getattr(own, kind).data_points.add().CopyFrom(point)
                yield single.SerializeToString(deterministic=True)


def plain(value):
    """A value of OTLP without its type, as the agent's log has it."""
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [plain(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return {item.key: plain(item.value) for item in value.kvlist_value.values}
    return base64.b64encode(value.bytes_value).decode() if kind == "bytes_value" else getattr(value, kind)


def line(level, category, message, metadata):
    """A line of the agent's log, to be compared. Texts of JSON are compared by what they say."""
    def read(text):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return json.dumps([level, category, read(message), {key: read(text) for key, text in metadata.items()}],
                      sort_keys=True)


def as_text(value):
    return value if isinstance(value, str) else json.dumps(value)


def one_line(group):
    """The line that the agent makes of each log record."""
    for scope in group.scope_logs:
        for record in scope.log_records:
            metadata = {f"resource.{item.key}": plain(item.value) for item in group.resource.attributes}
            metadata |= {f"scope.{item.key}": plain(item.value) for item in scope.scope.attributes}
            metadata |= {item.key: plain(item.value) for item in record.attributes}
            fields = {"scopeVersion": scope.scope.version, "scopeSchema": scope.schema_url,
                      "resourceSchema": group.schema_url, "severity": record.severity_text,
                      "severityNumber": record.severity_number, "traceID": record.trace_id.hex(),
                      "spanID": record.span_id.hex(), "flags": record.flags, "event": record.event_name}
            metadata |= {key: value for key, value in fields.items() if value}
            yield line("warning", scope.scope.name, as_text(plain(record.body)),
                       {key: as_text(value) for key, value in metadata.items()})


def lines():
    """The lines of the agent's log, without the times, which have microseconds."""
    with open(lines_file) as file:
        for text in file:
            found = json.loads(text)
            if found["category"] == "intake":
                sys.exit(f"the agent says: {found}")
            for key in ["observed", "sent"]:
                found["metadata"].pop(key, None)
            yield line(found["level"], found["category"], found["message"], found["metadata"])


def compare(what, sent, came):
    sent, came = collections.Counter(sent), collections.Counter(came)
    if agent:
        print(f"{what}: {sum((came - sent).values())} twice, after kills")
        # Only whole repeats.
        came = collections.Counter({item: 1 if item in sent else count for item, count in came.items()})
        sent = collections.Counter(sent.keys())
    print(f"{what}: {sum(sent.values())} sent, {sum(came.values())} stored")
    if not sent:
        sys.exit(f"no {what} was sent")
    for label, rest, message in [("not stored", sent - came, 1), ("stored and not sent", came - sent, 1)]:
        if rest:
            print(f"{sum(rest.values())} {what} {label}; one of them:")
            if agent and what == "log records":
                sys.exit(next(iter(rest)))
            form = ResourceLogs if what == "log records" else ResourceMetrics
            sys.exit(str(form.FromString(next(iter(rest)))))


logging.basicConfig(level=logging.WARNING)
for part in range(4 if agent else 1):
    send_logs(f"gzip{part}", Compression("gzip"))
    send_metrics(f"gzip{part}", Compression("gzip"), AggregationTemporality.CUMULATIVE)
    send_logs(f"plain{part}", Compression("none"))
    send_metrics(f"plain{part}", Compression("none"), AggregationTemporality.DELTA)
if set(results) != {"SUCCESS"}:
    sys.exit(f"the exporters said {collections.Counter(results)}")
sent_groups = [group for request in sent_logs for group in request.resource_logs]
if agent:
    print("sent", flush=True)
    sys.stdin.readline()
    compare("log records", [one for group in sent_groups for one in one_line(group)], lines())
else:
    compare("log records", [one for group in sent_groups for one in one_log(group)],
            [one for group in stored("logs", ResourceLogs) for one in one_log(group)])
points = [one for request in sent_metrics for group in request.resource_metrics for one in one_point(group)]
compare("data points", points, [one for group in stored("metrics", ResourceMetrics) for one in one_point(group)])
kinds = collections.Counter(
    metric.WhichOneof("data") for request in sent_metrics for group in request.resource_metrics
    for scope in group.scope_metrics for metric in scope.metrics)
exemplars = sum(b"shop" in point and len(ResourceMetrics.FromString(point).scope_metrics[0].metrics[0].sum.data_points) > 0
                and len(ResourceMetrics.FromString(point).scope_metrics[0].metrics[0].sum.data_points[0].exemplars) > 0
                for point in points)
print(f"kinds: {dict(kinds)}, sums with exemplars: {exemplars}")
if "exponential_histogram" not in kinds or not exemplars:
    sys.exit("the SDK sent no exponential histogram or no exemplar")
