"""Runs moto's S3 server on loopback, with objects in its memory, for the tests of object storage.

  .build/moto/bin/python Tools/moto-server.py PORT [ACCESS_KEY_ID SECRET_ACCESS_KEY]

PORT 0 is a free one. The key belongs to a user who may do anything; every request must be signed with it. Prints port
and key as one line of JSON once it listens, and ends when its standard input does.
"""

import json
import os
import sys
import threading

import moto.settings
from moto.iam.models import iam_backends
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server


class Handler(WSGIRequestHandler):
    def log_request(self, *_):
        pass


iam = iam_backends["123456789012"]["aws"]
iam.create_user("aws", "collector", "/")
key = iam.create_access_key("collector")
if len(sys.argv) > 2:
    key.access_key_id, key.secret_access_key = sys.argv[2], sys.argv[3]
allow = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
iam.put_user_policy("collector", "all", json.dumps({"Version": "2012-10-17", "Statement": [allow]}))
moto.settings.INITIAL_NO_AUTH_ACTION_COUNT = 0

application = DomainDispatcherApplication(create_backend_app)
server = make_server("127.0.0.1", int(sys.argv[1]), application, threaded=True, request_handler=Handler)
greeting = {"port": server.server_port, "key": key.access_key_id, "secret": key.secret_access_key}
print(json.dumps(greeting), flush=True)
threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True).start()
server.serve_forever()
