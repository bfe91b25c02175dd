#!/usr/bin/python3
"""What the generator refuses: each test changes one place of the schema and reads the message."""

import pathlib
import shutil
import tempfile
import unittest

from schema import DIRECTORY, Schema, SchemaError
from tables import tables


class SchemaTest(unittest.TestCase):
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


class Refusals(SchemaTest):
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


class Conventions(SchemaTest):
    """What departs from OpenTelemetry's conventions is refused: their table is Schemas/conventions/conventions.json."""

    def test_a_name_that_the_conventions_do_not_have_is_ours_or_has_a_reason(self):
        self.refuse(
            'name: "system.uptime"', 'name: "system.running"', "SystemSample.uptime_seconds",
            "no metric system.running", "ws1.")
        self.refuse(
            """ unregistered: "the name that OpenTelemetry's Collector made common\"""", "",
            "LoadAverage.one_minute", "system.cpu.load_average.1m")

    def test_a_unit_is_that_of_the_conventions(self):
        self.refuse(
            'name: "system.memory.limit" about', 'name: "system.memory.limit" unit: "MBy" about', "Memory.total",
            "By, not MBy")

    def test_a_kind_is_that_of_the_conventions(self):
        self.refuse(
            'name: "process.uptime" unit: "s" kind: GAUGE', 'name: "process.uptime" unit: "s" kind: UP_DOWN_COUNTER',
            "SelfCost.uptime_microseconds", "GAUGE, not UP_DOWN_COUNTER")

    def test_an_increase_has_no_name_of_the_conventions(self):
        self.refuse(
            '"ws1.system.context_switches" unit: "{switch}"', '"process.context_switches" unit: "{context_switch}"',
            "Activity.context_switches", "CUMULATIVE_COUNTER, not DELTA_COUNTER", "name of our own")

    def test_an_attribute_is_one_of_the_metric(self):
        self.refuse(
            'with: {name: "disk.io.direction" value: "write"}\n    }\n  ];\n  optional uint32 open_files',
            'with: {name: "network.io.direction" value: "transmit"}\n    }\n  ];\n  optional uint32 open_files',
            "SelfCost.written_bytes", "no attribute network.io.direction", "needs the attribute disk.io.direction")

    def test_an_attribute_is_one_of_the_conventions_or_ours(self):
        self.refuse(
            'name: "system.device"}];\n  // bytes', 'name: "system.partition"}];\n  // bytes', "FileSystem.size",
            "system.partition, which the conventions do not have")

    def test_an_attribute_has_the_type_of_the_conventions(self):
        self.refuse(
            'number = 9 [(privacy) = TECHNICAL, (attribute) = {name: "cpu.logical_number"}]',
            'number = 9 [(privacy) = TECHNICAL, (attribute) = {name: "cpu.mode"}]', "twice")
        self.refuse(
            'bool read_only = 9 [\n    (privacy) = TECHNICAL, (attribute) = {name: "system.filesystem.mode" if_true: "ro" '
            'if_false: "rw"}', 'bool read_only = 9 [\n    (privacy) = TECHNICAL, (attribute) = {name: '
            '"system.filesystem.mode"}', "FileSystem.size", "of type string, not boolean")

    def test_a_value_of_an_attribute_is_one_of_the_conventions(self):
        self.refuse(
            'meaning: {of: "POWER_STATE_FULL" state: "ok"}', 'meaning: {of: "POWER_STATE_FULL" state: "full"}',
            "Power.state", "hw.state", "full")

    def test_an_attribute_that_the_conventions_require_is_there(self):
        self.refuse(
            'per: 10000\n      with: {name: "hw.id" value: "battery"}', "per: 10000", "Power.battery_level",
            "needs the attribute hw.id")

    def test_a_reason_for_what_is_no_departure_is_refused(self):
        self.refuse(
            'name: "system.uptime"', 'name: "system.uptime" unregistered: "why not"', "system.uptime", "remove")
        self.refuse(
            '"hw.temperature" unit: "Cel"', '"hw.temperature" beyond: {name: "hw.id" value: "why not"} unit: "Cel"',
            "hw.id", "remove")

    def test_a_share_is_one_of_a_number_beside_it(self):
        self.refuse('"system.paging.utilization" of: "swap_total" about: "Share of the swap space in each state"}\n    }\n  '
                    '];\n}', '"system.paging.utilization" of: "swap" about: "Share"}\n    }\n  ];\n}',
                    "Memory.swap_used", "swap")

    def test_one_field_says_how_long_counters_have_counted(self):
        self.refuse(
            "uint64 resident_bytes = 2 [\n    (privacy) = TECHNICAL,",
            "uint64 resident_bytes = 2 [\n    (privacy) = TECHNICAL, (counted_for) = true,", "SelfCost", "counting")


class Whole(unittest.TestCase):
    def test_the_schema_generates_all_tables(self):
        self.assertGreater(len(tables(Schema())), 12)


if __name__ == "__main__":
    unittest.main()
