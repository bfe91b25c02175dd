"""Runs moto's S3 server on loopback, for the tests of object storage and for Tools/run-cluster.

  .build/moto/bin/python Tools/moto-server.py PORT [ACCESS_KEY_ID SECRET_ACCESS_KEY]
  .build/moto/bin/python Tools/moto-server.py PORT --credentials FILE --objects DIR

PORT 0 is a free one. The key belongs to a user who may do anything; every request must be signed with it. Prints port
and key as one line of JSON once it listens, and ends when its standard input does.

  --credentials FILE  the key, as a file of AWS's tools has it; then the line of JSON is without it
  --objects DIR       keeps each object in a file too, so that a server that was killed starts with all of them. Objects
                      are in memory alone otherwise. A directory in DIR is a bucket
"""

import argparse
import configparser
import hashlib
import json
import os
import pathlib
import sys
import threading
from datetime import datetime, timezone

import moto.settings
from moto.iam.models import iam_backends
from moto.s3.models import s3_backends
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

ACCOUNT = "123456789012"


class Handler(WSGIRequestHandler):
    def log_request(self, *_):
        pass


class KeptObjects:
    """Passes requests on to moto, and writes to files what they changed.

    A file has one line of JSON, the object's key and metadata, and then the object's bytes. The name is a digest of the
    key, because keys can be longer than names of files.
    """

    def __init__(self, application, directory):
        self.application = application
        self.directory = pathlib.Path(directory)
        self.backend = s3_backends[ACCOUNT]["aws"]
        for bucket in self.directory.iterdir():
            self.backend.create_bucket(bucket.name, "us-east-1")
            for file in bucket.iterdir():
                if file.suffix == ".new":
                    file.unlink()
                    continue
                head, content = file.read_bytes().split(b"\n", 1)
                head = json.loads(head)
                stored = self.backend.put_object(bucket.name, head["key"], content)
                stored.set_metadata(head["metadata"])
                stored.last_modified = datetime.fromtimestamp(file.stat().st_mtime, timezone.utc).replace(tzinfo=None)

    def __call__(self, environment, start_response):
        statuses = []

        def start(status, *rest):
            statuses.append(status)
            return start_response(status, *rest)

        answer = list(self.application(environment, start))
        if environment["REQUEST_METHOD"] not in ("GET", "HEAD") and statuses[-1].startswith("2"):
            bucket, _, key = environment["PATH_INFO"].encode("latin-1").decode().lstrip("/").partition("/")
            if key:
                self.keep(bucket, key)
            else:
                self.forget(bucket)
        return answer

    @staticmethod
    def name(key):
        return hashlib.sha256(key.encode()).hexdigest()

    def keep(self, bucket, key):
        folder = self.directory / bucket
        file = folder / self.name(key)
        stored = self.backend.buckets[bucket].keys.get(key)
        if stored is None:
            file.unlink(missing_ok=True)
            return
        folder.mkdir(exist_ok=True)
        new = folder / f"{os.getpid()}-{threading.get_ident()}.new"
        head = {"key": key, "metadata": dict(stored.metadata)}
        new.write_bytes(json.dumps(head).encode() + b"\n" + stored.value)
        new.rename(file)

    def forget(self, bucket):
        """After a request that names no object, such as one that deletes many."""
        folder = self.directory / bucket
        folder.mkdir(exist_ok=True)
        names = {self.name(key) for key in self.backend.buckets[bucket].keys}
        for file in folder.iterdir():
            if file.suffix != ".new" and file.name not in names:
                file.unlink()


parser = argparse.ArgumentParser(add_help=False)
parser.add_argument("port", type=int)
parser.add_argument("key", nargs="*")
parser.add_argument("--credentials")
parser.add_argument("--objects")
arguments = parser.parse_args()

iam = iam_backends[ACCOUNT]["aws"]
iam.create_user("aws", "collector", "/")
key = iam.create_access_key("collector")
if arguments.key:
    key.access_key_id, key.secret_access_key = arguments.key
if arguments.credentials:
    file = configparser.ConfigParser(interpolation=None)
    file.read(arguments.credentials)
    key.access_key_id = file["default"]["aws_access_key_id"]
    key.secret_access_key = file["default"]["aws_secret_access_key"]
allow = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
iam.put_user_policy("collector", "all", json.dumps({"Version": "2012-10-17", "Statement": [allow]}))
moto.settings.INITIAL_NO_AUTH_ACTION_COUNT = 0

application = DomainDispatcherApplication(create_backend_app)
if arguments.objects:
    application = KeptObjects(application, arguments.objects)
server = make_server("127.0.0.1", arguments.port, application, threaded=True, request_handler=Handler)
greeting = {"port": server.server_port}
if not arguments.credentials:
    greeting |= {"key": key.access_key_id, "secret": key.secret_access_key}
print(json.dumps(greeting), flush=True)
threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True).start()
server.serve_forever()
