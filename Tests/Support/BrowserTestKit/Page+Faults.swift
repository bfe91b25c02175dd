import JSON

// What a page must not have for anybody who looks at it.
extension Page {
    /// All findings, violations of accessibility in light and dark, and what does not fit into a window of any size.
    /// The page is shown as before afterwards, and `findings` begins anew.
    /// - Parameters: as those of `findings`.
    package func faults(allowedOrigin: String, expectedStatuses: Set<Int> = []) async throws -> [String] {
        let before = appearance
        var faults = try await findings(allowedOrigin: allowedOrigin, expectedStatuses: expectedStatuses).map(
            \.description)
        for isDark in [false, true] {
            try await resize(to: before.viewport, dark: isDark)
            faults += try await accessibilityViolations().map { "\(isDark ? "dark" : "light"): \($0)" }
        }
        for viewport in Viewport.all {
            try await resize(to: viewport, dark: before.isDark)
            // Scripts hear of another size with one frame, and change what they have drawn in the next.
            try await paint()
            try await paint()
            faults += try await overflowingElements().map { "\(viewport.width) pixels: \($0)" }
        }
        try await show(before)
        forgetFindings()
        return faults
    }

    /// Which of these texts the document has anywhere: in what it shows, in an attribute, in a comment. Letters as they
    /// are, for names and ids that belong to somebody else.
    package func mentions(of texts: [String]) async throws -> [String] {
        let found = try await evaluate(
            function: "texts => texts.filter(text => document.documentElement.outerHTML.includes(text))",
            .array(texts.map { .text($0) }))
        return found.items.compactMap(\.text)
    }
}
