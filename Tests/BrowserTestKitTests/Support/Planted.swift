import BrowserTestKit

/// A document without faults, but for what a test plants in it.
enum Planted {
    /// - Parameters:
    ///   - body: what is in its main part.
    ///   - style, script: at its head.
    ///   - policy: its Content-Security-Policy.
    static func page(
        _ body: String = "", title: String = "Planted", style: String = "", script: String = "", policy: String? = nil
    ) -> PageServer.Answer {
        .html(
            """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(title)</title>
            <link rel="icon" href="data:,">
            \(style.isEmpty ? "" : "<style>\(style)</style>")
            \(script.isEmpty ? "" : "<script>\(script)</script>")
            </head>
            <body>
            <main>
            <h1>\(title)</h1>
            \(body)
            </main>
            </body>
            </html>
            """, headers: policy.map { ["Content-Security-Policy": $0] } ?? [:])
    }

    /// Serves one page at `/` (and what else is given) and shows it.
    static func show<Value: Sendable>(
        _ page: PageServer.Answer, others: [String: PageServer.Answer] = [:], viewport: Viewport = .laptop,
        dark: Bool = false, _ body: (Page, PageServer) async throws -> Value
    ) async throws -> Value {
        try await PageServer.serving(others.merging(["/": page]) { $1 }) { server in
            try await Browser.current.withPage(viewport: viewport, dark: dark) { page in
                try await page.navigate(to: "\(server.origin)/")
                return try await body(page, server)
            }
        }
    }
}
