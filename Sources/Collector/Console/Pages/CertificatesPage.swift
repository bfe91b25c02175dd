import CollectorAPI
import JSON
import TelemetryBasics

/// The collector's certificates, their ends, and the pins that devices check.
struct CertificatesPage: ConsolePage {
    let path = "/certificates"
    let role = PersonRole.administrator

    /// The number of days before its end from which a certificate is marked, as the collector's notices do.
    private static let warningDays: Int64 = 30
    private static let badDays: Int64 = 7

    func view(_ visit: Visit) async throws -> Answer {
        let answer = try await visit.api.call(.getCertificates)
        let devices = answer.devices
        func shown(_ certificates: [CertificateView]?) -> JSONValue {
            JSONValue.array((certificates ?? []).map { Self.shown($0, now: visit.now) }).table
        }
        let server = answer.server.map { JSONValue.of($0).with(["certificates": shown($0.chain)]) }
        return .view(
            View(
                "certificates", title: "Certificates",
                [
                    "server": server ?? .null,
                    "clients": shown(answer.server?.clientAuthorities),
                    "backupPin": JSONValue(answer.backupPin),
                    "devices": JSONValue.of(devices).with(["isOff": .boolean(devices.certificates == "off")]),
                    "authorities": shown(devices.authorities),
                    "isEncryptedBefore": .boolean(server == nil && visit.origin.hasPrefix("https:")),
                ]))
    }

    private static func shown(_ certificate: CertificateView, now: Int64) -> JSONValue {
        var added: [String: JSONValue] = ["state": "unknown", "word": "unknown"]
        let begin = Timestamp.parse(certificate.validFrom)
        if let end = Timestamp.parse(certificate.validUntil) {
            let seconds = (end - now) / 1_000_000
            let days = seconds / 86_400
            added["state"] = .text(days < badDays ? "bad" : days < warningDays ? "warn" : "good")
            added["word"] = .text(
                end <= now
                    ? "ended"
                    : begin.map { $0 > now } ?? false
                        ? "not valid yet" : "\(DisplayText.counted(days, "day")) left")
            if let begin, begin > now { added["state"] = "bad" }
        }
        return JSONValue.of(certificate).with(added)
    }
}
