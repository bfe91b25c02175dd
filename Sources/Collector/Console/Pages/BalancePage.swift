import CollectorAPI
import JSON

/// Whether every record of the fleet is accounted for, with the devices where one is not.
struct BalancePage: ConsolePage {
    let path = "/balance"

    func view(_ visit: Visit) async throws -> Answer {
        let answer = try await visit.api.call(.getFleetBalance, visit.query.only(["test"]))
        let (balance, verification) = (answer.balance, answer.verification)
        return .view(
            View(
                "balance", title: "Balance",
                [
                    "balanceSeal": FleetSeal.balance(answer, now: visit.now).values,
                    "verificationSeal": FleetSeal.verification(answer, now: visit.now).values,
                    "balance": .of(balance), "verification": .of(verification),
                    "isRunning": .boolean(answer.running), "withTest": .boolean(visit.query["test"] == "true"),
                    "faults": JSONValue.of(balance?.faults).table,
                    "furtherFaults": Self.further(balance?.devicesWithFaults, balance?.faults.count),
                    "findings": JSONValue.of(verification?.findings).table,
                    "furtherFindings": Self.further(verification?.findingCount, verification?.findings.count),
                    "isOfAll": .boolean(visit.visitor.organization == nil),
                ]))
    }

    func perform(_ action: String, _ visit: Visit) async throws -> Outcome? {
        guard action == "renew" else { return nil }
        try await visit.api.call(.renewFleetBalance)
        return .done("A new balance begins within a minute. This page shows it when it is made; load it again.")
    }

    /// How many are not listed; null for none.
    private static func further(_ total: Int?, _ listed: Int?) -> JSONValue {
        let further = (total ?? 0) - (listed ?? 0)
        return further > 0 ? JSONValue(further) : .null
    }
}
