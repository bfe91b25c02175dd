import CommandKit
import DataSampler
import LogStore
import WireModel

extension AgentSettings {
    private static let seldom: SettingPlaces = [.variable, .file]

    static let table: [Setting<AgentSettings>] = [
        Setting(
            "data", \.configuration.directory, .text, "The data directory: queue, identity, logs, control socket",
            value: "dir"),
        Setting(
            "config", \.configurationFile, .text,
            "A JSON5 file of settings; its keys are the flags' names in camel case",
            value: "file", in: [.flag, .variable]),
        Setting(
            "collector", \.configuration.collectorURL,
            .text("http[s]://HOST[:PORT][/PREFIX] or mqtts://BROKER[:PORT]/PREFIX", pattern: "^(http|mqtt)s?://"),
            "The collector, or the message broker before it", value: "url",
            example: "https://collector.example:8420"),
        Setting(
            "enrollment", \.enrollment, .text,
            """
            The enrollment file that `ws1collector enrollment-file` made: the collector's address, the pins of its \
            keys and the enrollment token in one. Or the URL that it printed with --print-url
            """,
            value: "file|url", example: "/etc/ws1agent/enrollment.json", isSecret: true),
        Setting(
            "enrollment-token", \.enrollmentToken, .text,
            "Enrolls this device at its first contact. Other users see it in the list of processes, so prefer the file",
            value: "token", example: "TOKEN", isSecret: true),
        Setting(
            "enrollment-token-file", \.enrollmentTokenFile, .text, "A file whose first line is the enrollment token",
            value: "file", example: "/etc/ws1agent/enrollment-token"),
        Setting(
            "sample-interval", \.configuration.defaultSampleInterval, .seconds(.interval),
            "Seconds between two samples of a module", value: "s",
            fallback: SettingRange.text(CompiledDefaults.sampleInterval), reload: .atOnce),
        Setting(
            "transmit-interval", \.configuration.defaultTransmitInterval, .seconds(.interval),
            "Seconds between two transmits", value: "s",
            fallback: SettingRange.text(CompiledDefaults.transmitInterval), reload: .atOnce),
        Setting(
            "modules", \.configuration.sampleModules, .modules, "Names of modules to sample, separated by commas",
            value: "names", fallback: CompiledDefaults.moduleNames.joined(separator: ","), reload: .atOnce),
        Setting(
            "event-hold", \.configuration.eventHold, .seconds(.eventHold),
            "Seconds an event is held before it is sent", value: "s",
            fallback: SettingRange.text(CompiledDefaults.eventHold), reload: .atOnce),
        Setting(
            "beacon-interval", \.configuration.beaconInterval, .seconds(.beacon), "Seconds between two beacons",
            value: "s", reload: .atOnce),
        Setting(
            "loss-window", \.configuration.lossWindow, .seconds(.lossWindow),
            "Seconds of ordinary records that a kill or power cut may take; 0 makes each durable", value: "s"),
        Setting(
            "ca", \.configuration.certificateAuthorityFile, .text,
            "PEM file of certificate authorities to trust beside those of the system", value: "file",
            fallback: "none", example: "/etc/ws1agent/ca.pem"),
        Setting(
            "client-key", \.configuration.clientKeyFile, .text,
            "PEM file of the private key of this device's client certificate; needs client-request too", value: "file",
            example: "/etc/ws1agent/client.key"),
        Setting(
            "client-request", \.configuration.clientSigningRequestFile, .text,
            """
            File with the certificate signing request (PKCS #10, PEM or DER) made with that key; the collector answers \
            it with the certificate
            """,
            value: "file", example: "/etc/ws1agent/client.csr"),
        Setting(
            "device-key", \.deviceKey, .deviceKey,
            """
            Who has the key that protects the data directory: a key file (in the directory, or file:/PATH), a systemd \
            credential, or a person who enters a passcode; none: nothing is encrypted. A start converts what is there
            """,
            value: "source", fallback: "file in a new data directory, none in another",
            example: "systemd:ws1-device-key"),
        Setting(
            "proxy", \.configuration.proxyURL, .text("http://HOST[:PORT]", pattern: "^http://"), "An HTTP proxy",
            value: "url", fallback: "that of the environment", example: "http://proxy.example:3128"),
        Setting(
            "mqtt-user", \.configuration.mqttUser, .text,
            "With a collector of mqtts://: this device's user at the message broker", value: "name",
            fallback: "none", example: "kiosk-7"),
        Setting(
            "mqtt-password-file", \.configuration.mqttPasswordFile, .text,
            "A file whose first line is that user's password; read for each connection", value: "file",
            fallback: "none", example: "/etc/ws1agent/mqtt-password"),
        Setting(
            "notice-hook", \.noticeHook, .text("an absolute path", pattern: "^/"),
            """
            A program to run on each notice of the device, without a shell; it reads the notice as JSON on standard \
            input
            """,
            value: "file", fallback: "none", example: "/usr/local/bin/on-notice"),
        Setting(
            "allow-plaintext", \.configuration.allowsPlaintext, .flag,
            """
            Allow plain http:// or mqtt:// to another machine. Anybody on the network path can then read credentials \
            and data
            """),
        Setting(
            "log-level", \.configuration.traceLevel, .choice { TraceLevel(name: $0) },
            "Least severe level of the agent's log", value: "level",
            reload: .atOnce),

        // Rarely used, so only environment and file set them.
        Setting(
            "mqtt-name", \.configuration.mqttName, .text,
            "This device's name at the message broker, another for each device", in: seldom,
            fallback: "mqttUser", example: "kiosk-7"),
        Setting(
            "mqtt-certificate", \.configuration.mqttCertificate, .text,
            "PEM file with the client certificate for the message broker, and its chain", in: seldom,
            fallback: "none", example: "/etc/ws1agent/mqtt.pem"),
        Setting(
            "mqtt-key", \.configuration.mqttKey, .text, "PEM file with its private key, without a passphrase",
            in: seldom, fallback: "none", example: "/etc/ws1agent/mqtt.key"),
        Setting(
            "application", \.configuration.applicationIdentifier, .text,
            "Bundle id in records and beacons; empty for the agent itself", in: seldom, example: "com.example.kiosk"),
        Setting(
            "application-version", \.configuration.applicationVersion, .text,
            "The program's version, in beacons and for compliance rules", in: seldom, example: "1.2.3"),
        Setting(
            "disabled-modules", \.configuration.disabledModules, .disabledModules,
            "Built-in or custom modules that stay off whatever the profile says", in: seldom,
            example: "wlan2", reload: .atOnce),
        Setting(
            "telecom-source", \.configuration.telecomSource, .choice(),
            "hub: a hub already counts this device's network traffic, so networkData is masked", in: seldom,
            reload: .atOnce),
        Setting(
            "analytics", \.configuration.analyticsEnabled, .flag,
            "false: no events are recorded, whatever the profile says", in: seldom, reload: .atOnce),
        Setting(
            "logging", \.configuration.loggingEnabled, .flag,
            "false: no logs are kept or sent, whatever the profile says", in: seldom, reload: .atOnce),
        Setting(
            "logs-over-wifi-only", \.configuration.logsOverWiFiOnly, .flag,
            "true: logs are sent over Wi-Fi or wired networks only, whatever the profile says", in: seldom,
            key: "logsOverWiFiOnly", reload: .atOnce),
        Setting(
            "telemetry-disabled", \.configuration.telemetryDisabled, .flag,
            "true: nothing is sampled or recorded, and only commands are answered, whatever the profile says",
            in: seldom, reload: .atOnce),
        Setting(
            "test", \.configuration.isTest, .flag, "true: all records are marked as test data", in: seldom,
            reload: .atOnce),
        Setting(
            "offline-time-allowed", \.configuration.offlineTimeAllowed, .seconds(.offline),
            """
            Seconds without the collector after which a notice says so; also how long certificate pins may fail, a day \
            where none is set
            """,
            in: seldom, fallback: "the profile's, else none", example: "604800", reload: .atOnce),
        Setting(
            "credential-days", \.configuration.credentialDays,
            .number(SettingRange(0...DataSamplerConfiguration.greatestCredentialDays, "days")),
            "Days after which the device asks for a new credential by itself; 0: never", in: seldom, reload: .atOnce),
        Setting(
            "logind", \.configuration.followsLogind, .flag,
            """
            true: logind tells of unlocks, sleep and shutdown, and who uses the machine; false: only commands and \
            programs tell the agent
            """,
            in: seldom),
        Setting(
            "gpsd", \.gpsd, .text("127.0.0.1:PORT, [::1]:PORT, an absolute path, or none"),
            """
            Where gpsd listens on this machine, for module gps, geofences and beacons; it is connected only while \
            somebody wants the location and may know it. none: gpsd is not asked
            """,
            in: seldom, example: "/run/gpsd.sock"),
        Setting(
            "access-group", \.accessGroupName, .text,
            "A group of this machine's users who may ask the running agent and read its logs", in: seldom,
            fallback: "nobody else", example: "adm"),
        Setting(
            "notice-hook-arguments", \.noticeHookArguments, .arguments, "Arguments of the notice hook, in order",
            in: seldom, example: "--quiet", isSecret: true),
        Setting(
            "notice-hook-seconds", \.noticeHookSeconds, .number(SettingRange(1...300, "seconds")),
            "Seconds after which a run of the notice hook is killed", in: seldom),
        Setting(
            "detectors", \.configuration.builtInDetectors, .detectors, "Detectors of a compromised device to run",
            in: seldom),
        Setting(
            "binary-digest", \.configuration.expectedBinaryDigest,
            .text("64 hexadecimal digits", pattern: "^[0-9a-fA-F]{64}$"),
            "SHA-256 of the agent's file, for agent-binary-modified", in: seldom,
            fallback: "what was recorded at the first start", example: "64 hexadecimal digits"),

        // Objects, which only the file can hold.
        Setting(
            "module-intervals", \.configuration.moduleIntervals,
            .entries(
                .object(
                    .init(),
                    [
                        Setting(
                            "sample-interval", \.sampleInterval, .seconds(.interval), "Seconds between two samples"),
                        Setting(
                            "transmit-interval", \.transmitInterval, .seconds(.interval),
                            "Seconds between two transmits"),
                    ])),
            "Other intervals for single modules, by module name; a custom module's name has a dot", in: .file,
            example: "{ networkAdapter: { sampleInterval: 900 } }", reload: .atOnce),
        Setting(
            "privacy", \.configuration.privacy,
            .entries(named: FieldClass.decidable.map(\.rawValue).sorted(), .choice()),
            "Treatment of personal fields, by privacy class; the stricter of this and the profile's holds", in: .file,
            example: "{ mac: 'hash', 'ip-address': 'coarsen', ssid: 'drop' }", reload: .atOnce),
        Setting(
            "budgets", \.configuration.budgets,
            .object(
                DataSamplerBudgets(),
                [
                    Setting(
                        "sentBytesPerDay", \.sentBytesPerDay, .integer(1...(.max)), "Compressed bytes sent in a day"),
                    Setting(
                        "writtenBytesPerDay", \.writtenBytesPerDay, .integer(1...(.max)),
                        "Bytes written to disk in a day"),
                    Setting(
                        "processorShare", \.processorShare,
                        .number(
                            SettingRange(
                                0...DataSamplerBudgets.greatestProcessorShare, "cores", excludesLeast: true)),
                        "Share of a processor core"),
                ]),
            "Limits on the agent's cost, which it keeps by sampling and sending less often", in: .file,
            fallback: "none",
            example: "{ sentBytesPerDay: 10000000, writtenBytesPerDay: 500000000, processorShare: 0.01 }",
            reload: .atOnce),
        Setting(
            "log-retention", \.configuration.logRetention,
            .object(
                LogRetention(),
                [
                    Setting(
                        "bytes", \.bytes, .integer(LogRetention.leastBytes...(.max)),
                        "Bytes on disk of all segments but those of the ring"),
                    Setting(
                        "days", \.days, .number(SettingRange(LogRetention.daysAllowed)),
                        "Days for which a segment is kept after its last line"),
                    Setting(
                        "verboseRingBytes", \.verboseRingBytes,
                        .integer(LogRetention.leastRingBytes...(.max), takesZero: true),
                        "Bytes on disk of the ring of verbose lines; 0: no ring"),
                ]),
            "What the log store keeps", in: .file),
        Setting(
            "intake", \.configuration.intakes, .entries(.intake),
            """
            Log files of other programs and the systemd journal to take into the log store, by a name of your choice, \
            which the lines get as their application
            """,
            in: .file, example: "{ nginx: { files: ['/var/log/nginx/*.log'] } }"),
        Setting(
            "metric-sources", \.configuration.metricSources, .entries(.metricSource),
            """
            Metrics of other programs to sample, by a name of your choice with a dot, which is a custom module from \
            then on
            """,
            in: .file, example: "{ 'local.mail': { exec: '/usr/local/bin/mail-queue' } }"),
        Setting(
            "scrub", \.configuration.logScrubbing,
            .object(
                LogScrubbing(),
                [
                    Setting("values", \.values, .secrets, "Texts to replace"),
                    Setting(
                        "patterns", \.patterns, .secrets,
                        "Patterns to replace, in the syntax of the profile's scrubPatterns"),
                ]),
            "What is replaced in the log before a line is written, in addition to what the profile says", in: .file,
            example: "{ values: ['hunter2'], patterns: ['card \\\\d+'] }", reload: .atOnce, isSecret: true),
    ]
}

extension SettingType where Value == Double {
    fileprivate static func seconds(_ range: SecondsRange) -> SettingType {
        number(SettingRange(range.least...range.greatest, "seconds"))
    }
}

extension SettingType where Value == [String] {
    fileprivate static let secrets = texts { $0.isEmpty ? "none" : "\($0.count), not shown" }
}

extension SettingType where Value == DataSamplerModules {
    fileprivate static let modules = SettingType(.names(known: DataSamplerModules.offeredNames), text: \.names) {
        given throws(CommandError) in
        let names = try given.names("modules")
        do throws(DataSamplerError) { return try DataSamplerModules(names: names) } catch {
            throw given.refused(error.message, cause: error)
        }
    }
}

extension SettingType where Value == Set<String> {
    fileprivate static let disabledModules = SettingType(
        .names(known: nil), text: { $0.isEmpty ? "none" : $0.sorted().joined(separator: ",") }
    ) { given throws(CommandError) in Set(try given.names("modules")) }
}

extension SettingType where Value == [String] {
    fileprivate static let arguments = SettingType(
        .names(known: nil), text: { $0.isEmpty ? "none" : $0.joined(separator: ",") }
    ) { given throws(CommandError) in try given.names("arguments") }
}

extension SettingType where Value == Set<BuiltInDetector> {
    fileprivate static let detectors = SettingType(
        .names(known: BuiltInDetector.allCases.map(\.rawValue)),
        text: { detectors in
            BuiltInDetector.allCases.filter(detectors.contains).map(\.rawValue).joined(separator: ",")
        }
    ) { given throws(CommandError) in
        var detectors: Set<BuiltInDetector> = []
        for name in try given.names("detectors") {
            guard let detector = BuiltInDetector(rawValue: name) else {
                throw given.wrong("some of \(BuiltInDetector.allCases.map(\.rawValue).joined(separator: ", "))")
            }
            detectors.insert(detector)
        }
        return detectors
    }
}
