import BrowserTestKit
import Foundation
import JSON
import NIOHTTP1
import Testing

/// What an administrator does with many devices, with notices, and with the seal of the balance.
@Suite("The fleet in the console", .serialized, .browser) struct ConsoleFleetTests {
    @Test func `Searching while typing narrows the list, and the address keeps it`() async throws {
        try await ConsoleScene.run { scene in
            try await scene.withPage { page in
                try await page.navigate(to: "\(scene.origin)/devices?test=true")
                #expect(try await page.texts(of: "#devices tbody tr").count == 4)
                try await page.waitUntil("document.querySelector('#facets details').open = true")
                try await page.click("main input[name=q]")
                try await page.type("simulated-1")
                try await page.waitUntil("document.querySelectorAll('#devices tbody tr').length === 1")
                try await page.waitUntil("document.querySelector('#facets details').open")
                #expect(try await page.isFocused("main input[name=q]"))
                let address = try await page.url
                #expect(address.contains("q=simulated-1"))
                try await page.withTab { other in
                    try await other.navigate(to: address)
                    #expect(try await other.texts(of: "#devices tbody tr").count == 1)
                }
            }
        }
    }

    @Test func `An action on selected devices asks and reports the result of each`() async throws {
        try await ConsoleScene.run { scene in
            try await scene.withPage { page in
                try await page.navigate(to: "\(scene.origin)/devices?test=true&organization=harbor")
                for device in scene.harborDevices.prefix(2) {
                    try await page.click("input[name=device][value='\(device)']")
                }
                try await page.choose("send-beacon", in: "select[name=what]")
                try await page.follow("#device-action button")
                #expect(try await page.text(of: "h1").contains("2 devices"))
                try await page.follow("button.danger")
                try await page.waitUntil("location.pathname.startsWith('/jobs/')")
                try await page.waitUntil("document.querySelectorAll('#results .done').length === 2")
                #expect(try await page.findings(allowedOrigin: scene.origin) == [])
            }
        }
    }

    /// Neither a click too many nor a list that has changed deletes a device.
    @Test func `Deleting listed devices needs the number typed`() async throws {
        try await ConsoleScene.run { scene in
            try await scene.withPage { page in
                try await page.navigate(to: "\(scene.origin)/devices?test=true&organization=harbor")
                try await page.choose("delete", in: "select[name=what]")
                try await page.click("input[name=scope][value=listed]")
                try await page.follow("#device-action button")
                try await page.fill("main form input[name=typed]", "2")
                let refused = try await page.follow("button.danger")
                #expect(refused.status == 422)
                #expect(try await scene.deployment.devices("test=true&organization=harbor").count == 3)
                try await page.navigate(to: "\(scene.origin)/devices?test=true&organization=harbor")
                try await page.choose("delete", in: "select[name=what]")
                try await page.click("input[name=scope][value=listed]")
                try await page.follow("#device-action button")
                try await page.fill("main form input[name=typed]", "3")
                try await page.follow("button.danger")
                try await page.waitUntil("document.querySelectorAll('#results .done').length === 3")
                #expect(try await scene.deployment.devices("test=true&organization=harbor").isEmpty)
            }
        }
    }

    /// The collector makes a balance of all devices; before, the seal claims nothing.
    @Test func `The seal is good once a balance of real devices is made`() async throws {
        try await ConsoleScene.run { scene in
            try await scene.withPage { page in
                _ = try await scene.deployment.request("/balance", .POST)
                try await scene.deployment.until(
                    "the balance is made", within: .seconds(150), while: scene.deployment.collector
                ) {
                    try await page.navigate(to: "\(scene.origin)/")
                    return try await page.texts(of: ".seals .seal-good").count == 1
                }
                #expect(try await page.text(of: ".seals .seal-good").contains("0 lost, 0 doubled"))
                #expect(try await page.text(of: ".seals").contains("Never verified"), "unknown is not good")
                let verified = try await Program.collector.run(["verify", "--data", scene.deployment.collectorData])
                #expect(verified.succeeded, "\(verified)")
                try await scene.deployment.until("the verification is shown", while: scene.deployment.collector) {
                    try await page.reload()
                    return try await page.text(of: ".seals").contains("Verified, nothing found")
                }
            }
        }
    }
}
