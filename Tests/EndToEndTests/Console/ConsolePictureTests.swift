import BrowserTestKit
import Foundation
import Testing

/// Pictures of the console's pages, for people to look at and for the documentation:
/// `WS1_PICTURES=DIR Tools/test --filter ConsolePictureTests`.
@Suite(
    "Pictures of the console", .serialized, .browser(limit: .seconds(1800)),
    .enabled(if: ProcessInfo.processInfo.environment["WS1_PICTURES"] != nil))
struct ConsolePictureTests {
    @Test func `Each page is pictured in each size, light and dark`() async throws {
        let directory = URL(fileURLWithPath: ProcessInfo.processInfo.environment["WS1_PICTURES"] ?? "pictures")
        try await ConsoleScene.run(simulated: 40) { scene in
            try await scene.withPage { page in
                let pages = [
                    ("home", "/"), ("devices", "/devices?test=true"), ("device", "/devices/\(scene.device)?range=1h"),
                    ("timeline", "/devices/\(scene.device)/timeline"), ("balance", "/devices/\(scene.device)/balance"),
                    ("commands", "/devices/\(scene.device)/commands"), ("system", "/devices/\(scene.device)/system"),
                    ("manage", "/devices/\(scene.device)/manage"),
                    ("explore", "/explore?metric=system.memory.usage&range=1h&test=true"),
                    ("analytics", "/analytics?range=1h&test=true"),
                    ("event", "/analytics/event?event=console.event.1&range=1h"), ("logs", "/logs?range=1h"),
                    ("log-lines", "/logs/view"), ("request-logs", "/request-logs"), ("profiles", "/profiles"),
                    ("profile", "/profiles/default"), ("profile-edit", "/profiles/default/edit"),
                    ("add-device", "/add-device"), ("notices", "/notices"), ("tokens", "/tokens"),
                    ("audit", "/audit"), ("storage", "/storage"), ("about", "/about"), ("jobs", "/jobs"),
                    ("certificates", "/certificates"), ("organizations", "/organizations"),
                ]
                for (name, address) in pages {
                    #expect(try await page.navigate(to: scene.origin + address).status == 200, "\(address)")
                    try await page.screenshots(named: name, in: directory)
                }
            }
        }
    }

    @Test func `A resource of OTLP is pictured in each size, light and dark`() async throws {
        let directory = URL(fileURLWithPath: ProcessInfo.processInfo.environment["WS1_PICTURES"] ?? "pictures")
        try await ConsoleScene.run(simulated: 1) { scene in
            let resource = try await scene.sendOTLP()
            try await scene.withPage { page in
                for (name, address) in [("otlp", "?range=1h"), ("otlp-timeline", "/timeline")] {
                    try await page.navigate(to: "\(scene.origin)/devices/\(resource)\(address)")
                    try await page.screenshots(named: name, in: directory)
                }
            }
        }
    }
}
