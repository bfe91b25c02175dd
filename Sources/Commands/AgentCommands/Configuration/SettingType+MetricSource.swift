import CommandKit
import DataSampler

extension SettingType where Value == MetricSourceSettings {
    /// A source of the setting `metricSources`.
    static let metricSource = object(
        MetricSourceSettings(),
        [
            Setting(
                "exec", \.exec, .text,
                "Absolute path of a program that prints measurements as lines of JSON and ends", fallback: "none",
                example: "/usr/local/bin/mail-queue"),
            Setting("arguments", \.arguments, .programArguments, "Arguments of the program"),
            Setting(
                "statsd", \.statsd, .text,
                "Where StatsD is taken in: address and port of this machine for UDP, or the path of a socket",
                fallback: "none", example: "127.0.0.1:8125"),
            Setting(
                "from-other-machines", \.fromOtherMachines, .flag,
                "Allows statsd at an address that other machines reach; whoever does can write there"),
            Setting(
                "prometheus", \.prometheus, .text,
                "URL of a program on this machine that shows its metrics as Prometheus text", fallback: "none",
                example: "http://127.0.0.1:9100/metrics"),
            Setting(
                "timeout", \.timeout, .number(SettingRange(MetricSourceSettings.timeoutAllowed, "seconds")),
                "Time limit of one run or scrape"),
            Setting(
                "series", \.series, .integer(MetricSourceSettings.seriesAllowed),
                "Series of a sample; what is beyond is left out and counted"),
        ])
}

extension SettingType where Value == [String] {
    /// A comma is part of an argument.
    fileprivate static let programArguments = SettingType(
        .names(known: nil), text: { $0.isEmpty ? "none" : $0.joined(separator: " ") }
    ) { given throws(CommandError) in
        switch given.value {
        case .list(let words): return words
        case .text(let word): return [word]
        case .number, .flag, .table: throw given.wrong("a list of texts")
        }
    }
}
