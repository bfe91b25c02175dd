import BrowserTestKit
import Foundation
import JSON
import Testing

/// The way of a support engineer: request logs of a device, read them, download and delete them.
@Suite("Logs in the console", .serialized, .browser) struct ConsoleLogTests {
    @Test func `Logs are requested, read, followed, downloaded and deleted after a question`() async throws {
        try await ConsoleScene.run { scene in
            try await scene.deployment.log("warning", "the hinge squeaks")
            try await scene.withPage(.operator, of: "default") { page in
                // Request what is there now. The page shows by itself when it has arrived.
                try await page.navigate(to: "\(scene.origin)/request-logs?device=\(scene.device)")
                try await page.follow("button.primary", containing: "Request the logs")
                try await page.waitUntil("document.querySelector('#requests .command-done')")
                try await page.follow("#requests a.button", containing: "Show the lines")
                let lines = try await page.texts(of: ".lines .message")
                #expect(lines.contains { $0.contains("the hinge squeaks") }, "\(lines)")
                #expect(try await page.texts(of: ".lines .level-warning").contains("warning"), "told by a word, too")

                // A level shows itself and all that is more severe.
                try await page.navigate(to: "\(scene.origin)/logs/view?device=\(scene.device)&level=error")
                let errors = try await page.texts(of: ".lines .line > .state")
                #expect(!errors.isEmpty && Set(errors) == ["error"])

                // A hit is shown among its neighbours.
                try await page.navigate(to: "\(scene.origin)/logs/view?device=\(scene.device)&text=stuck")
                #expect(try await page.texts(of: ".lines .line").count == 1)
                try await page.follow(".lines .when")
                #expect(try await page.texts(of: "#hit .message").first?.contains("stuck") == true)
                #expect(try await page.texts(of: ".lines .line").count > 1)

                // Download all that match.
                try await page.navigate(to: "\(scene.origin)/logs?device=\(scene.device)")
                let file = try await page.downloading {
                    try await page.click("a.button", containing: "Download all lines that match")
                }
                #expect(String(decoding: file.data, as: UTF8.self).contains("the hinge squeaks"))

                // Deleting asks, and says how much.
                try await page.follow("a.danger", containing: "Delete all listed")
                #expect(try await scene.deployment.logChunks("device=\(scene.device)") > 0, "it was only asked")
                #expect(try await page.text(of: "h1").hasPrefix("Delete "))
                #expect(try await page.texts(of: ".facts dt").contains("Lines"))
                try await page.follow("button.danger")
                #expect(try await scene.deployment.logChunks("device=\(scene.device)") == 0)
                #expect(try await page.text(of: "main").contains("No log"))
                #expect(try await page.findings(allowedOrigin: scene.origin) == [])
            }
        }
    }

    @Test func `New lines appear for a follower`() async throws {
        try await ConsoleScene.run { scene in
            try await scene.withPage(.viewer, of: "default") { page in
                try await page.navigate(to: "\(scene.origin)/logs/view?device=\(scene.device)")
                try await page.follow("a.button", containing: "Follow")
                try await scene.deployment.log("error", "somebody rang the bell")
                let sent = try await Program.log.run(["send", "--data", scene.deployment.agentData])
                #expect(sent.succeeded, "\(sent)")
                try await page.waitUntil("document.querySelector('#lines').innerText.includes('rang the bell')")
                #expect(try await page.findings(allowedOrigin: scene.origin) == [])
            }
        }
    }
}
