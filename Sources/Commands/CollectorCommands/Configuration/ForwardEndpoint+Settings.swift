import CommandKit
import Forwarding
import HTTPConnection
import WireModel

extension ForwardEndpoint {
    /// The section of the configuration file.
    static let table: [Setting<Settings>] = [
        Setting(
            "forward", \.forward, .entries(.object(ForwardEndpoint(), fields)),
            """
            Receivers of OTLP/HTTP to which the collector sends records on, each under a name of its own. See \
            Documentation/forwarding.md
            """,
            in: [.file],
            example: "{ backend: { url: https://otlp.example, own: 60 } }",
            reload: .atOnce)
    ]

    private static let fields: [Setting<ForwardEndpoint>] = [
        Setting(
            "url", \.url, .receiver, "Address of the receiver, without /v1/logs and /v1/metrics", value: "url",
            example: "https://otlp.example", reload: .atOnce),
        Setting(
            "ca", \.authorityFile, .text, "PEM file with the only authorities to trust", value: "file",
            fallback: "those of the system", example: "/etc/ws1collector/otlp-ca.pem", reload: .atOnce),
        Setting(
            "headers", \.headerFile, .text,
            "File with headers of each request, `Name: value` on each line; read for each request", value: "file",
            fallback: "none", example: "/etc/ws1collector/otlp-headers", reload: .atOnce),
        Setting("kinds", \.kinds, .forwardKinds, "What is sent", value: "names", reload: .atOnce),
        Setting(
            "organizations", \.organizations, .nameSet("organizations"), "The organizations whose records are sent",
            value: "names", reload: .atOnce),
        Setting(
            "metrics", \.metrics, .texts("names of metrics", text: { $0.isEmpty ? "all" : $0.joined(separator: ",") }),
            "Names of the metrics that are sent; a `*` at the end stands for any rest", value: "names",
            reload: .atOnce),
        Setting("test", \.withTest, .flag, "Whether test data is sent, too", reload: .atOnce),
        Setting(
            "backlog", \.withBacklog, .flag,
            "Whether a new endpoint begins with the oldest stored records, not with what comes from now on",
            reload: .atOnce),
        Setting(
            "own", \.ownMetricsSeconds, .integer(5...86_400, takesZero: true),
            "Seconds between two sendings of the collector's own metrics; 0: they are not sent", value: "seconds",
            reload: .atOnce),
    ]
}

extension Settings {
    /// What forwarding needs.
    var forwarding: ForwardSettings {
        var settings = ForwardSettings()
        (settings.endpoints, settings.allowsPlaintext, settings.proxies) = (forward, allowPlaintext, proxies)
        return settings
    }

    /// - Throws: `.usage`, naming the endpoint that cannot be used.
    func checkForwarding(_ layers: SettingLayers<Settings>) throws(CommandError) {
        for (name, endpoint) in forward.sorted(by: { $0.key < $1.key }) {
            func refusal(_ objection: String) -> CommandError {
                CommandError(.usage, "forward, endpoint `\(name)`: \(objection)")
            }
            // It is a label of metrics and the key of a cursor.
            guard (1...64).contains(name.utf8.count),
                name.utf8.allSatisfy({ byte in
                    (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "-")
                })
            else { throw refusal("a name has 1 to 64 characters of a-z, 0-9 and -.") }
            guard let url = endpoint.url else { throw refusal("give its `url`, such as https://otlp.example.") }
            do throws(ConnectionSettingsError) {
                try HTTPForwardClient.settings(
                    endpoint, url, allowsPlaintext: allowPlaintext, proxies: proxies
                ).check()
            } catch { throw CommandError(.usage, "forward, endpoint `\(name)`: \(error.message)", cause: error) }
            if let file = endpoint.headerFile {
                do throws(ForwardHeaders.Invalid) { _ = try ForwardHeaders(file: file) } catch {
                    throw refusal(error.message)
                }
            }
        }
    }
}

extension SettingType where Value == EndpointURL {
    fileprivate static let receiver = SettingType(.text(range: "http:// or https://", pattern: "^https?://")) {
        given throws(CommandError) in
        let text = try given.text()
        do throws(ConnectionSettingsError) {
            return try EndpointURL(server: text, name: "receiver's URL")
            // Without the address: it may contain a password.
        } catch { throw CommandError(.usage, "\(given.origin): \(error.message)", cause: error) }
    }
}

extension SettingType where Value == Set<ForwardEndpoint.Kind> {
    fileprivate static let forwardKinds = SettingType(
        .names(known: ForwardEndpoint.Kind.allCases.map(\.rawValue)),
        text: { $0.isEmpty ? "all" : $0.map(\.rawValue).sorted().joined(separator: ",") }
    ) { given throws(CommandError) in
        var kinds: Set<ForwardEndpoint.Kind> = []
        for name in try given.names("kinds") {
            guard let kind = ForwardEndpoint.Kind(rawValue: name) else {
                let known = ForwardEndpoint.Kind.allCases.map(\.rawValue).joined(separator: ", ")
                throw given.refused("'\(name)' is no kind. Known: \(known)")
            }
            kinds.insert(kind)
        }
        return kinds
    }
}

extension SettingType where Value == Set<String> {
    fileprivate static func nameSet(_ what: String) -> SettingType {
        SettingType(.names(known: nil), text: { $0.isEmpty ? "all" : $0.sorted().joined(separator: ",") }) {
            given throws(CommandError) in Set(try given.names(what))
        }
    }
}
