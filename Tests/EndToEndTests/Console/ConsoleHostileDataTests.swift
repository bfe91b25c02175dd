import BrowserTestKit
import CollectorAPI
import Foundation
import JSON
import Testing

@testable import Console

/// Whatever a device sends stays text, and keeps the layout.
@Suite("Hostile data in the console", .serialized, .browser(limit: .seconds(900))) struct ConsoleHostileDataTests {
    @Test func `It stays text on every page that shows a device's texts`() async throws {
        try await ConsoleScene.run { scene in
            let device = try await HostileDevice.report(to: scene.deployment)
            let reported = try await Program.agent.run(
                [
                    "log", "--category", HostileDevice.short, "--metadata", "key=\(HostileDevice.markup)",
                    "--data", scene.deployment.agentData, "--", "error", HostileDevice.long,
                ])
            #expect(reported.succeeded, "\(reported)")
            try await scene.deployment.sendLogs()
            try await scene.withPage { page in
                let name = HostileDevice.short.percentEncoded
                let own = Console.pages.map(\.path).filter { $0.hasPrefix("/devices/{device}") }.map {
                    $0.replacing("{device}", with: device.id)
                }
                let addresses =
                    own + [
                        "/", "/devices", "/notices", "/audit", "/devices?q=\(name)", "/analytics", "/explore", "/logs",
                    ]
                    + [
                        "/analytics/event?event=\(name)", "/logs/view",
                        "/logs?text=\(HostileDevice.markup.percentEncoded)", "/add-device", "/profiles/default",
                    ]
                var shown = 0
                for address in addresses {
                    let response = try await page.navigate(to: scene.origin + address)
                    #expect(response.status == 200, "\(address)")
                    let faults = try await page.faults(allowedOrigin: scene.origin)
                    #expect(faults == [], "\(address)")
                    #expect(try await page.evaluate("window.hacked === undefined") == true, "\(address)")
                    // An override that is shown turns round what is beside it.
                    let text = try await page.text(of: "body")
                    #expect(!text.contains("\u{202E}") && !text.contains("\u{1B}"), "\(address)")
                    if text.contains("<script>window.hacked=1</script>") { shown += 1 }
                }
                // Otherwise nothing was tested.
                #expect(shown > own.count, "shown on \(shown) pages")
            }
        }
    }
}
