"""Writes the Swift tables that follow from the options of telemetry.proto. Tools/generate-wire runs it.

  /usr/bin/python3 Tools/wire DIRECTORY    writes the files below DIRECTORY, as they lie below the repository, and prints
                                           their names

Needs Debian's protobuf-compiler, libprotobuf-dev and python3-protobuf. An error names the message and the field.
"""

import pathlib
import shutil
import sys

from schema import Schema, SchemaError
from tables import FOLDERS, tables


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    root = pathlib.Path(sys.argv[1])
    try:
        files = tables(Schema())
    except SchemaError as error:
        sys.exit(f"generate-wire: {error}")
    # All files of the catalog's folder are tables: a sample that is gone takes its file with it.
    shutil.rmtree(root / FOLDERS["catalog"], ignore_errors=True)
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        print(target)


main()
