import BrowserTestKit
import Testing

extension BrowserKitTests {
    /// Needs axe-core, which `Tools/axe-core` fetches.
    @Suite struct AccessibilityTests {
        @Test func `A clean page has no violation`() async throws {
            let page = Planted.page(
                """
                <p>Text <a href="/">and a link</a></p>
                <form><label>Name <input name="name"></label><button>Go</button></form>
                <table><thead><tr><th scope="col">Device</th></tr></thead><tbody><tr><td>One</td></tr></tbody></table>
                """, policy: "default-src 'none'; img-src data:")
            let violations = try await Planted.show(page) { page, _ in try await page.accessibilityViolations() }
            #expect(violations == [])
        }

        @Test(arguments: [
            ("<p id=pale style=\"color: #999; background: #fff\">pale</p>", "color-contrast", "#pale"),
            ("<input id=field name=a>", "label", "#field"),
            ("<button id=nameless></button>", "button-name", "#nameless"),
            ("<a id=empty href=\"/\"></a>", "link-name", "#empty"),
            ("<img id=picture src=\"data:,\">", "image-alt", "#picture"),
            ("<h3 id=deep>Deep</h3>", "heading-order", "#deep"),
            ("<div id=role role=nothing>x</div>", "aria-roles", "#role"),
        ]) func `Violations are found`(body: String, rule: String, selector: String) async throws {
            try await Planted.show(Planted.page(body)) { page, _ in
                let violations = try await page.accessibilityViolations()
                #expect(violations.map(\.rule) == [rule], "\(violations)")
                #expect(violations.first?.selector == selector)
                #expect(violations.first?.help.isEmpty == false && violations.first?.impact.isEmpty == false)
            }
        }

        /// A colour that can be read in one scheme only.
        @Test func `Contrast is that of the scheme shown`() async throws {
            let page = Planted.page(
                "<p>text</p>",
                style: """
                    :root { color-scheme: light dark; background: #fff; color: #111 }
                    @media (prefers-color-scheme: dark) { :root { background: #111; color: #333 } }
                    """)
            try await Planted.show(page) { page, _ in
                #expect(try await page.accessibilityViolations() == [])
                try await page.resize(to: .laptop, dark: true)
                let rules = try await page.accessibilityViolations().map(\.rule)
                #expect(!rules.isEmpty && Set(rules) == ["color-contrast"])
            }
        }
    }
}
