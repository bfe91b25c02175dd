"""Captures what the stock exporters of OpenTelemetry for Python send, in both encodings and of the same data.

  python3 -m venv V
  V/bin/pip install opentelemetry-exporter-otlp-json-http==0.66b1 opentelemetry-exporter-otlp-proto-http==1.45.1
  V/bin/python capture.py

It writes logs.pb, logs.json, metrics.pb and metrics.json beside itself. Requests go to a server on loopback.
"""

import http.server
import logging
import pathlib
import threading
import warnings

from opentelemetry import context, trace
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.json.http._log_exporter import OTLPLogExporter as JSONLogs
from opentelemetry.exporter.otlp.json.http.metric_exporter import OTLPMetricExporter as JSONMetrics
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter as ProtobufLogs
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter as ProtobufMetrics
from opentelemetry.metrics import Observation
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation, View
from opentelemetry.sdk.resources import Resource

FOLDER = pathlib.Path(__file__).resolve().parent
RESOURCE = Resource.create({
    "service.name": "capture", "service.instance.id": "capture-1", "host.id": "capture-host", "list": ["a", "b"],
    "flag": True, "number": 7, "share": 0.5})


class Catcher(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        kind = self.headers["Content-Type"]
        name = self.path.rsplit("/", 1)[1] + {"application/json": ".json", "application/x-protobuf": ".pb"}[kind]
        (FOLDER / name).write_bytes(body)
        self.send_response(200)
        self.send_header("Content-Type", kind)
        answer = b"{}" if kind == "application/json" else b""
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


def spans():
    """A context with a span, as log records and exemplars refer to one."""
    span = trace.NonRecordingSpan(trace.SpanContext(
        0x0102030405060708090A0B0C0D0E0F10, 0x1112131415161718, False, trace.TraceFlags(trace.TraceFlags.SAMPLED)))
    return trace.set_span_in_context(span)


def log_records():
    memory = InMemoryLogRecordExporter()
    provider = LoggerProvider(resource=RESOURCE)
    provider.add_log_record_processor(SimpleLogRecordProcessor(memory))
    logger = provider.get_logger("capture", "1.2", schema_url="https://opentelemetry.io/schemas/1.37.0")
    logger.emit(LogRecord(
        timestamp=1_700_000_000_123_456_789, observed_timestamp=1_700_000_000_200_000_000, body="plain \u00e9 \U0001f600",
        severity_number=SeverityNumber.WARN, severity_text="WARNING", context=spans(),
        attributes={"text": "x", "int": -(2**63), "double": 1.5, "flag": False, "list": [1, 2], "texts": ["a"],
                    "bytes": b"\x00\xff"}))
    logger.emit(LogRecord(
        timestamp=1_700_000_001_000_000_000, event_name="capture.event", body={"map": {"list": [1, "a", None, 2.5]}},
        severity_number=SeverityNumber.INFO))
    return memory.get_finished_logs()


def metric_data():
    reader = InMemoryMetricReader()
    provider = MeterProvider(metric_readers=[reader], resource=RESOURCE, views=[
        View(instrument_name="capture.sizes", aggregation=ExponentialBucketHistogramAggregation(max_size=16))])
    meter = provider.get_meter("capture", "1.2")
    token = context.attach(spans())
    counter = meter.create_counter("capture.requests", "1", "Requests")
    counter.add(3, {"kind": "a"})
    counter.add(4.5, {"kind": "b"})
    meter.create_up_down_counter("capture.open").add(-2)
    meter.create_observable_gauge("capture.temperature", [lambda _: [Observation(21.5, {"room": "x"})]], "Cel")
    latency = meter.create_histogram("capture.latency", "s")
    sizes = meter.create_histogram("capture.sizes", "By")
    for value in (0, 0.25, 3, 80, 100_000):
        latency.record(value, {"route": "/"})
        sizes.record(value)
    context.detach(token)
    return reader.get_metrics_data()


def main():
    logging.basicConfig()
    warnings.simplefilter("ignore")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Catcher) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/v1"
        records, data = log_records(), metric_data()
        for exporter in (ProtobufLogs, JSONLogs):
            exporter(endpoint=f"{address}/logs").export(records)
        for exporter in (ProtobufMetrics, JSONMetrics):
            exporter(endpoint=f"{address}/metrics").export(data)
        server.shutdown()


main()
