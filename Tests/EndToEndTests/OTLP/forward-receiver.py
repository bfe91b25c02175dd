"""A receiver of OTLP/HTTP built on opentelemetry-proto, which is slow, refuses, and breaks connections.

  forward-receiver.py PORT FILE SEED

It writes each group of a request that it took to FILE, as a line of JSON, and then answers. Now and then it answers 429,
502, 503 or 504 without taking the request, takes it and closes the connection without an answer, answers late, or says
that a part was rejected though it took all. It ends with its standard input.
"""

import gzip
import http.server
import json
import random
import sys
import threading
import time

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest, ExportMetricsServiceResponse)

port, path, seed = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
dice = random.Random(seed)
lock = threading.Lock()
counts = {}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert self.headers["Content-Type"] == "application/x-protobuf", self.headers
        assert self.headers["Content-Encoding"] == "gzip", self.headers
        assert self.headers["X-Token"] == "secret", self.headers
        signal = self.path.rsplit("/", 1)[-1]
        request = {"logs": ExportLogsServiceRequest, "metrics": ExportMetricsServiceRequest}[signal]()
        request.ParseFromString(gzip.decompress(body))
        with lock:
            behaviour = dice.choices(
                ["take", "refuse", "lose", "slow", "late", "partial"], [60, 15, 8, 8, 4, 5])[0]
            counts[behaviour] = counts.get(behaviour, 0) + 1
        if behaviour == "refuse":
            return self.answer(dice.choice([429, 502, 503, 504]), b"", {"Retry-After": dice.choice(["0", "1"])})
        if behaviour == "slow":
            time.sleep(0.5)
        with lock, open(path, "a", encoding="utf-8") as file:
            for group in getattr(request, f"resource_{signal}"):
                file.write(json.dumps({"signal": signal, "group": MessageToDict(group)}) + "\n")
        if behaviour == "lose":
            self.close_connection = True
            self.connection.close()
            return None
        if behaviour == "late":
            time.sleep(1)
        response = {"logs": ExportLogsServiceResponse, "metrics": ExportMetricsServiceResponse}[signal]()
        if behaviour == "partial":
            if signal == "logs":
                response.partial_success.rejected_log_records = 1
            else:
                response.partial_success.rejected_data_points = 1
            response.partial_success.error_message = "said by a test"
        return self.answer(200, response.SerializeToString(), {"Content-Type": "application/x-protobuf"})

    def answer(self, status, body, headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
print(counts, flush=True)
