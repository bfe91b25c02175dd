import ArgumentParser
import FoundationEssentials
import HTTPTransport
import WireModel

/// Which collector, as whom, and which device.
struct CollectorOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Logs at this collector: http[s]://HOST[:PORT]. (WS1_COLLECTOR)", valueName: "url"))
    var collector: String?

    @Option(help: ArgumentHelp("The device at the collector whose logs they are. (WS1_DEVICE)", valueName: "id"))
    var device: String?

    @Option(
        help: ArgumentHelp(
            "A file with your access token for the collector; a token itself is no flag, since others see those. (WS1_TOKEN_FILE, WS1_TOKEN)",
            valueName: "file"))
    var tokenFile: String?

    @Option(help: ArgumentHelp("The collector's certificate authorities, PEM; default those of the system. (WS1_CA)", valueName: "file"))
    var ca: String?

    @Option(help: ArgumentHelp("An HTTP proxy on the way to the collector: http://HOST[:PORT]. (WS1_PROXY)", valueName: "url"))
    var proxy: String?

    @Flag(
        help: """
            Speak plain http:// to a collector on another machine too. Everybody on the way can then read your access token and the logs. \
            (WS1_ALLOW_PLAINTEXT)
            """)
    var allowPlaintext = false

    private static var environment: [String: String] { ProcessInfo.processInfo.environment }

    /// - Parameter data: `--data`.
    func place(data: String?) throws(LogCommandError) -> LogPlace {
        let flags = [
            ("--collector", collector), ("--device", device), ("--token-file", tokenFile), ("--ca", ca), ("--proxy", proxy),
            ("--allow-plaintext", allowPlaintext ? "true" : nil),
        ]
        return try LogPlace(data: data, remote: flags.filter { $0.1 != nil }.map(\.0), environment: Self.environment)
    }

    private static func flag(_ variable: String, _ environment: [String: String]) throws(LogCommandError) -> Bool {
        switch environment[variable]?.lowercased() {
        case nil, "", "false", "no", "0": return false
        case "true", "yes", "1": return true
        case .some(let text): throw LogCommandError(.usage, "\(variable) is '\(text)'; it must be true or false")
        }
    }

    /// - Throws: `.usage` for what is missing or cannot be.
    func access() throws(LogCommandError) -> CollectorAccess {
        let environment = Self.environment
        func value(_ flag: String?, _ variable: String) -> String? { flag ?? environment[variable].flatMap { $0.isEmpty ? nil : $0 } }
        guard let url = value(collector, "WS1_COLLECTOR") else {
            throw LogCommandError(.usage, "which collector? Give --collector http[s]://HOST[:PORT], or set WS1_COLLECTOR")
        }
        guard let name = value(device, "WS1_DEVICE") else {
            throw LogCommandError(
                .usage, "which device? Give --device ID, or set WS1_DEVICE; the collector's console and GET /api/v1/devices list them")
        }
        guard let device = DeviceID(name) else { throw LogCommandError(.usage, "--device \(name) is no device's id (a UUID)") }
        let token = try AccessToken(file: tokenFile, environment: environment)
        let isPlaintextAllowed = try Self.flag("WS1_ALLOW_PLAINTEXT", environment) || allowPlaintext
        do throws(HTTPTransportError) {
            var configuration = HTTPTransportConfiguration(collector: try EndpointURL(collector: url))
            configuration.certificateAuthorityFile = value(ca, "WS1_CA")
            if let proxy = value(proxy, "WS1_PROXY") { configuration.proxy = try EndpointURL(proxy: proxy) }
            configuration.allowsPlaintext = isPlaintextAllowed
            try configuration.check()
            return CollectorAccess(device: device, token: token, configuration: configuration)
        } catch { throw LogCommandError(.usage, error.message, cause: error) }
    }
}

/// What is needed to ask a collector about a device.
struct CollectorAccess: Sendable {
    var device: DeviceID
    var token: AccessToken
    var configuration: HTTPTransportConfiguration
}
