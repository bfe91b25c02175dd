import JSON

/// Whether every record of the fleet is accounted for, with the devices where one is not.
struct BalancePage: Page {
    let path = "/balance"

    func view(_ visit: Visit) async throws -> Answer {
        let answer = try await visit.api.get("/api/v1/balance", visit.query.only(["test"]))
        let balance = answer["balance"]
        let verification = answer["verification"]
        return .view(
            View(
                "balance", title: "Balance",
                [
                    "balanceSeal": FleetSeal.balance(answer, now: visit.now).values,
                    "verificationSeal": FleetSeal.verification(answer, now: visit.now).values,
                    "balance": balance, "verification": verification,
                    "isRunning": answer["running"], "withTest": .boolean(visit.query["test"] == "true"),
                    "faults": balance["faults"].table,
                    "furtherFaults": Self.further(balance["devicesWithFaults"], balance["faults"]),
                    "findings": verification["findings"].table,
                    "furtherFindings": Self.further(verification["findingCount"], verification["findings"]),
                    "isOfAll": .boolean(visit.visitor.organization == nil),
                ]))
    }

    func perform(_ action: String, _ visit: Visit) async throws -> Outcome? {
        guard action == "renew" else { return nil }
        try await visit.api.send("POST", "/api/v1/balance")
        return .done("A new balance begins within a minute. This page shows it when it is made; load it again.")
    }

    /// How many are not listed; null for none.
    private static func further(_ total: JSONValue, _ listed: JSONValue) -> JSONValue {
        let further = (total.integer ?? 0) - Int64(listed.items.count)
        return further > 0 ? .integer(further) : .null
    }
}
