import CollectorAPI
import Foundation
import JSON
import WireModel

/// How much room the logs of an organization's applications use and have.
struct LogQuotasPage: ConsolePage {
    let path = "/organizations/{organization}/log-quotas"

    private static let units = [("1000000", "MB"), ("1000000000", "GB")]

    func view(_ visit: Visit) async throws -> Answer {
        let organization = visit.parameter("organization")
        let own = try await visit.api.call(.listLogQuotas(organization)).items
        let usage = try await visit.api.call(.getLogUsage).items.filter { $0.organization == organization }
        let chosen = visit.form["application"] ?? visit.query["application"]
        let rows = Self.rows(usage: usage, own: own)
        return .view(
            View(
                "log-quotas", title: "Log quotas of \(organization)",
                [
                    "organization": .text(organization),
                    "rows": .array(rows), "hasRows": .boolean(!rows.isEmpty),
                    "application": JSONValue(chosen),
                    "isOwn": .boolean(own.contains { $0.application == chosen }),
                    "amount": .text(visit.form["amount"] ?? Self.amount(of: chosen, own: own, usage: usage)),
                    "units": Choice.list(Self.units, chosen: visit.form["unit"] ?? Self.units[0].0),
                ]))
    }

    func perform(_ action: String, _ visit: Visit) async throws -> Outcome? {
        let (organization, application) = (visit.parameter("organization"), visit.form.text("application") ?? "")
        let name = application.isEmpty ? "devices without a bundle id" : application
        switch action {
        case "set":
            guard let amount = visit.form.text("amount").flatMap(Double.init), amount.isFinite,
                let unit = visit.form.text("unit").flatMap(Double.init),
                let bytes = Int64(exactly: (amount * unit).rounded())
            else { throw Problem.field("The quota", "is not a number.") }
            try await visit.api.call(
                application.isEmpty ? .putAgentLogQuota(organization) : .putLogQuota(organization, application),
                body: ["bytes": .integer(bytes)])
            return .done("The logs of \(name) may use \(DisplayText.bytes(Double(bytes))).", at: visit.path)
        case "reset":
            try await visit.api.call(
                application.isEmpty ? .deleteAgentLogQuota(organization) : .deleteLogQuota(organization, application))
            return .done("The default quota holds for the logs of \(name).", at: visit.path)
        default: return nil
        }
    }

    /// One row for each application that has logs or a quota of its own. Test devices of an application have the same
    /// quota once more.
    private static func rows(usage: [LogUsageView], own: [LogQuotaView]) -> [JSONValue] {
        let quotas = Set(own.map(\.application))
        let used = usage.map { row in
            let application = row.application ?? ""
            let share = Double(row.rawBytes) / Double(max(row.quotaBytes, 1))
            return JSONValue.of(row).with([
                "application": .text(application), "isOwn": .boolean(quotas.contains(application)),
                "share": .real(share), "isHigh": .boolean(share >= 0.75), "meter": .real(min(share, 1)),
            ])
        }
        let names = Set(usage.map { $0.application ?? "" })
        let unused = own.filter { !names.contains($0.application) }.map {
            JSONValue.of($0).with([
                "quotaBytes": JSONValue($0.bytes), "rawBytes": 0, "chunks": 0, "isOwn": true, "share": 0, "meter": 0,
                "isHigh": false,
            ])
        }
        return used + unused
    }

    /// The present quota of an application in megabytes, as the form shows it.
    private static func amount(of application: String?, own: [LogQuotaView], usage: [LogUsageView]) -> String {
        guard let application else { return "" }
        let bytes =
            own.first { $0.application == application }?.bytes
            ?? usage.first { $0.application ?? "" == application }?.quotaBytes
        guard let bytes else { return "" }
        let megabytes = Double(bytes) / 1_000_000
        return megabytes == megabytes.rounded() ? "\(Int64(megabytes))" : "\(megabytes)"
    }
}
