import Foundation
import JSON

extension Page {
    /// What the window shows, as PNG of the viewport's size.
    /// - Parameter isWhole: the whole page, as high as it is, instead of what the window shows.
    package func screenshot(whole isWhole: Bool = false) async throws -> Data {
        try await paint()
        var parameters: [String: JSONValue] = ["format": "png"]
        if isWhole {
            let size = try await call("Page.getLayoutMetrics")["cssContentSize"]
            parameters["captureBeyondViewport"] = true
            parameters["clip"] = [
                "x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1,
            ]
        }
        let picture = try await call("Page.captureScreenshot", .object(parameters))
        guard let data = picture["data"].text.flatMap({ Data(base64Encoded: $0) }) else {
            throw BrowserError(.refused, "the screenshot is no picture")
        }
        return data
    }

    /// Pictures in every viewport, light and dark: `NAME-390-light.png`, `NAME-390-dark.png`, `NAME-1280-light.png`...
    /// Afterwards the page is shown as before.
    /// - Returns: the files.
    @discardableResult
    package func screenshots(named name: String, in directory: URL) async throws -> [URL] {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let before = appearance
        var files: [URL] = []
        for viewport in Viewport.all {
            for isDark in [false, true] {
                try await resize(to: viewport, dark: isDark)
                let file = directory.appendingPathComponent(
                    "\(name)-\(viewport.width)-\(isDark ? "dark" : "light").png")
                try await screenshot().write(to: file)
                files.append(file)
            }
        }
        try await show(before)
        return files
    }

    /// Waits until the page has drawn what it is now: the frame after the next has all that scripts do at once about
    /// another size or scheme.
    func paint() async throws {
        guard runsScripts else { return }
        try await evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))")
    }
}
