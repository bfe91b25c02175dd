import JSON
import TelemetryBasics

/// The collector's certificates, their ends, and the pins that devices check.
struct CertificatesPage: Page {
    let path = "/certificates"
    let role = Visitor.Role.administrator

    /// The number of days before its end from which a certificate is marked, as the collector's notices do.
    private static let warningDays: Int64 = 30
    private static let badDays: Int64 = 7

    func view(_ visit: Visit) async throws -> Answer {
        let answer = try await visit.api.get("/api/v1/certificates")
        let (server, devices) = (answer["server"], answer["devices"])
        func shown(_ certificates: JSONValue) -> JSONValue {
            JSONValue.array(certificates.items.map { Self.shown($0, now: visit.now) }).table
        }
        return .view(
            View(
                "certificates", title: "Certificates",
                [
                    "server": server == .null ? .null : server.with(["certificates": shown(server["chain"])]),
                    "clients": shown(server["clientAuthorities"]),
                    "backupPin": answer["backupPin"],
                    "devices": devices.with(["isOff": .boolean(devices["certificates"].text == "off")]),
                    "authorities": shown(devices["authorities"]),
                    "isEncryptedBefore": .boolean(server == .null && visit.origin.hasPrefix("https:")),
                ]))
    }

    private static func shown(_ certificate: JSONValue, now: Int64) -> JSONValue {
        var added: [String: JSONValue] = ["state": "unknown", "word": "unknown"]
        let begin = certificate["validFrom"].text.flatMap { Timestamp.parse($0) }
        if let end = certificate["validUntil"].text.flatMap({ Timestamp.parse($0) }) {
            let seconds = (end - now) / 1_000_000
            let days = seconds / 86_400
            added["state"] = .text(days < badDays ? "bad" : days < warningDays ? "warn" : "good")
            added["word"] = .text(
                end <= now
                    ? "ended"
                    : begin.map { $0 > now } ?? false
                        ? "not valid yet" : "\(DisplayText.counted(.integer(days), "day")) left")
            if let begin, begin > now { added["state"] = "bad" }
        }
        return certificate.with(added)
    }
}
