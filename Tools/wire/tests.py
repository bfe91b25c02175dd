#!/usr/bin/python3
"""What the generator refuses: each test changes one place of the schema and reads the message."""

import pathlib
import shutil
import tempfile
import unittest

from schema import DIRECTORY, Schema, SchemaError
from tables import tables


class Refusals(unittest.TestCase):
    def refuse(self, before, after, *words):
        """The schema with one change is refused with a message that has these words."""
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(DIRECTORY / "options.proto", folder)
            text = (DIRECTORY / "telemetry.proto").read_text()
            self.assertEqual(text.count(before), 1, before)
            (pathlib.Path(folder) / "telemetry.proto").write_text(text.replace(before, after))
            with self.assertRaises(SchemaError) as caught:
                tables(Schema(folder))
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_a_field_of_a_sample_without_a_privacy_class_does_not_generate(self):
        field = "string cpu_model = 5"
        self.refuse(f"{field} [(privacy) = TECHNICAL];", f"{field};", "SystemIdentity.cpu_model", "privacy class")

    def test_a_field_of_a_request_without_a_privacy_class_does_not_generate(self):
        field = "string agent_version = 6"
        self.refuse(f"{field} [(privacy) = TECHNICAL];", f"{field};", "EnrollRequest.agent_version", "privacy class")

    def test_a_map_without_a_privacy_class_does_not_generate(self):
        self.refuse(
            "map<string, string> attributes = 3 [(privacy) = DETAIL];", "map<string, string> attributes = 3;",
            "DeviceInformation.attributes")

    def test_a_personal_field_needs_a_form_that_fits_its_type(self):
        field = "string detail = 3 [(privacy) = DETAIL"
        self.refuse(field + ", (form) = TEXT];", field + "];", "CommandResult.detail", "form")
        self.refuse(field + ", (form) = TEXT];", field + ", (form) = DEGREES];", "CommandResult.detail", "DEGREES")

    def test_a_message_of_which_nobody_says_who_gets_it_does_not_generate(self):
        self.refuse("message CustomSample {", "message Lonely {}\nmessage CustomSample {", "Lonely", "route")

    def test_a_number_of_a_sample_is_a_metric_or_says_why_not(self):
        self.refuse(', (no_metric) = "belongs to the address"', "", "InterfaceAddress.prefix_length", "no_metric")

    def test_two_fields_of_one_metric_agree(self):
        self.refuse(
            'about: "TCP resets sent, and connections ended by a reset" with:', 'about: "TCP resets" with:',
            "NetworkDataSample.tcp_resets_received", "ws1.network.tcp.resets")

    def test_a_metric_needs_a_unit(self):
        self.refuse('name: "ws1.gps.altitude" unit: "m"', 'name: "ws1.gps.altitude"', "Location.altitude_meters", "unit")

    def test_a_usual_chart_shows_a_metric_that_there_is(self):
        self.refuse('metric: "system.disk.io"}', 'metric: "system.disk"}', "disks", "system.disk")

    def test_a_module_has_a_bit_of_its_own(self):
        self.refuse('name: "wlan2" bit: 6', 'name: "wlan2" bit: 1', "bit")

    def test_the_names_of_an_enum_differ(self):
        second = "LOG_LEVEL_VERBOSE = 4 [(also) = "
        self.refuse(second + '"debug"]', second + '"info"]', "LogLevel", "name")

    def test_a_kind_of_record_names_its_body(self):
        self.refuse('[(body) = "GPSSample"]', "", "RECORD_KIND_SAMPLE_GPS", "body")


class Whole(unittest.TestCase):
    def test_the_schema_generates_all_tables(self):
        self.assertGreater(len(tables(Schema())), 12)


if __name__ == "__main__":
    unittest.main()
