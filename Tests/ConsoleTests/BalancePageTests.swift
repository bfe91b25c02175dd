import CollectorAPI
import Foundation
import JSON
import Testing

@testable import Console

@Suite struct BalancePageTests {
    private static let path = "/balance"

    private func page(_ answer: JSONValue) async throws -> String {
        let harness = try ConsoleHarness(["GET /api/v1/balance": answer])
        let page = try await harness.page(Self.path, harness.visit(Self.path, role: .viewer))
        #expect(page.status == 200)
        return page.html
    }

    @Test func `A fault leads to the device's balance`() async throws {
        let html = try await page(HomePageTests.faulty())
        #expect(html.contains(#"href="/devices/\#(HomePageTests.device)/balance""#))
        #expect(html.contains("1 lost, 1 doubled") && html.contains(#"<span class="state bad">missing</span>"#))
        #expect(!html.contains("Further devices with a fault"))
    }

    @Test func `More faults than are listed are counted`() async throws {
        let balance = HomePageTests.faulty()["balance"].with(["devicesWithFaults": 120])
        let html = try await page(HomePageTests.faulty().with(["balance": balance]))
        #expect(html.contains("Further devices with a fault: 119."))
    }

    @Test func `Without a balance, no sum is shown`() async throws {
        let html = try await page(["state": "unknown", "running": false, "verification": .null])
        #expect(!html.contains("seal-good") && !html.contains("Devices with a fault"))
        #expect(html.contains("ws1collector verify"))
    }

    @Test func `Findings of the verification are shown as text`() async throws {
        let finding: JSONValue = [
            "code": "altered", "file": "records/2026-01-01/event.sqlite", "device": .text(HomePageTests.device),
            "message": .text(HomePageTests.hostile),
        ]
        let verification = HomePageTests.whole["verification"].with([
            "intact": false, "findingCount": 3, "findings": [finding],
        ])
        let html = try await page(HomePageTests.whole.with(["verification": verification]))
        #expect(
            html.contains("Verified, 3 faults found")
                && html.contains("Further findings, in the output of the command: 2."))
        #expect(html.contains("records/2026-01-01/event.sqlite") && !html.contains("<script>alert"))
    }

    @Test func `A new balance is asked for`() async throws {
        let harness = try ConsoleHarness(["POST /api/v1/balance": ["state": "unknown", "running": false]])
        let response = try await harness.console.answerForm(
            Self.path, harness.visit(Self.path, form: [("action", "renew")], role: .viewer))
        #expect(response.status == 303)
        #expect(harness.requests.map(\.method) == ["POST"])
    }
}
