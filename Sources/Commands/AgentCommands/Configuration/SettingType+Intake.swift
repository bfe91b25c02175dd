import CommandKit
import DataSampler
import Intake
import TelemetryBasics
import WireModel

extension SettingType where Value == IntakeSettings {
    /// A source of the setting `intake`.
    static let intake = object(
        IntakeSettings(),
        [
            Setting(
                "files", \.files, .texts("paths"), "Absolute paths, with the wildcards of glob(7)",
                example: "/var/log/nginx/*.log"),
            Setting("journal", \.journal, .flag, "Takes in the systemd journal in place of files"),
            Setting("kernel", \.kernel, .flag, "Takes in the kernel's ring, /dev/kmsg, in place of files"),
            Setting(
                "otlp", \.otlp, .flag,
                "Receives OTLP/HTTP of programs on this machine in place of files: logs and metrics"),
            Setting(
                "port", \.port, .integer(0...65_535),
                "Port of 127.0.0.1 and ::1 at which OTLP is received; 0: only at the socket"),
            Setting(
                "socket", \.socket, .text,
                "Path of a socket at which syslog (datagrams), or with otlp OTLP/HTTP, is received, in place of files",
                fallback: "none", example: "/run/ws1agent/syslog"),
            Setting(
                "group", \.group, .text, "Group whose members may use the socket of OTLP",
                fallback: "the agent's user alone", example: "telemetry"),
            Setting(
                "bodyBytes", \.bodyBytes, .integer(IntakeSettings.bodyBytesAllowed),
                "Bytes of a request of OTLP, as sent and after inflation"),
            Setting(
                "bytesPerDay", \.bytesPerDay, .integer(1_000_000...(.max)),
                "Bytes of requests of OTLP in a day (UTC), after inflation; more are answered with 429"),
            Setting(
                "udp", \.udp, .text, "Address and port at which syslog is received by UDP", fallback: "none",
                example: "127.0.0.1:5514"),
            Setting(
                "tcp", \.tcp, .text, "Address and port at which syslog is received by TCP", fallback: "none",
                example: "127.0.0.1:5514"),
            Setting("allowRemote", \.allowRemote, .flag, "Other machines may reach udp and tcp"),
            Setting("units", \.units, .texts("names"), "Units of the journal, with their suffix; none: all"),
            Setting("identifiers", \.identifiers, .texts("names"), "Identifiers of the journal's entries; none: all"),
            Setting(
                "priority", \.priority, .integer(0...7),
                "The highest number of a priority, of journal, kernel and syslog: 0 (emergency) to 7 (debug)"),
            Setting("namespace", \.namespace, .text, "A namespace of the journal", fallback: "the default one"),
            Setting(
                "start", \.start, .start,
                """
                Where the first start begins: now (at the ends), all, or a date (files changed and entries written \
                since)
                """),
            Setting("level", \.level, .logLevel, "Level of the lines of files"),
            Setting(
                "eventStart", \.eventStart, .text,
                """
                Pattern with which the first line of an event begins, in the syntax of the profile's scrubPatterns; \
                other lines belong to the event before them
                """,
                fallback: "each line is an event", example: "[0-9]{4}-"),
            Setting(
                "bytes", \.bytes, .integer(LogRetention.leastBytes...(.max)), "Bytes on disk of the source's segments"),
            Setting(
                "days", \.days, .number(SettingRange(LogRetention.daysAllowed)),
                "Days for which a segment is kept after its last line"),
            Setting(
                "linesPerSecond", \.linesPerSecond, .integer(1...(.max)),
                "Lines stored in a second; what comes faster is left out and counted", fallback: "no limit"),
            Setting(
                "burst", \.burst, .integer(1...(.max)), "Lines that may come at once; counts with linesPerSecond"),
        ])
}

extension SettingType where Value == IntakeStart {
    private static var forms: String { "now, all, or a date such as 2026-11-29 or 2026-11-29T08:00:00Z" }

    fileprivate static let start = SettingType(
        .text(range: forms, pattern: nil),
        text: { start in
            switch start {
            case .now: "now"
            case .all: "all"
            case .since(let time): Timestamp.text(time)
            }
        }
    ) { given throws(CommandError) in
        switch try given.text() {
        case "now": return .now
        case "all": return .all
        case let text:
            guard let time = Timestamp.parse(text) else { throw given.wrong(forms) }
            return .since(time)
        }
    }
}
