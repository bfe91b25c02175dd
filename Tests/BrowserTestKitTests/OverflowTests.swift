import BrowserTestKit
import Testing

extension BrowserKitTests {
    @Suite struct OverflowTests {
        private static let long = String(repeating: "unbreakable", count: 40)
        private static let words = String(repeating: "many words ", count: 40)

        private static func overflowing(_ body: String, viewport: Viewport = .phone, style: String = "") async throws
            -> [Page.OverflowingElement]
        {
            try await Planted.show(Planted.page(body, style: style), viewport: viewport) { page, _ in
                try await page.overflowingElements()
            }
        }

        @Test(arguments: [
            "<p>\(words)</p>",
            // What scrolls by itself.
            "<div style=\"overflow-x: auto\"><table><tr><td>\(long)</td></tr></table></div>",
            // What says in its title what it cuts off.
            """
            <p style="overflow: hidden; text-overflow: ellipsis; white-space: nowrap" title="\(words)">\(words)</p>
            """,
            // For screen readers only.
            """
            <span style="position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); \
            white-space: nowrap">
            \(words)</span>
            """,
            // What is not shown at all.
            "<p hidden>\(long)</p>", "<details><summary>More</summary><p>\(words)</p></details>",
            """
            <div style="overflow: hidden; width: 100px; height: 50px"><div style="width: 900px; height: \
            900px"></div></div>
            """,
        ]) func `What fits is not found`(body: String) async throws {
            #expect(try await Self.overflowing(body) == [])
        }

        @Test func `What widens the page is found`() async throws {
            let found = try await Self.overflowing("<p>fits</p><div><pre id=wide>\(Self.long)</pre></div>")
            #expect(found.map(\.kind) == [.page] && found.map(\.selector) == ["#wide"], "\(found)")
            #expect((found.first?.excess ?? 0) > 1000)
            // A box without text does, too; the widest viewport has room for it.
            let box = "<div id=box style=\"width: 1500px; height: 10px\"></div>"
            #expect(try await Self.overflowing(box, viewport: .laptop).map(\.selector) == ["#box"])
            #expect(try await Self.overflowing(box, viewport: .wide) == [])
        }

        @Test(arguments: [
            "<p id=cut style=\"overflow: hidden; text-overflow: ellipsis; white-space: nowrap\">\(words)</p>",
            // The text is in an element of its own.
            "<div id=cut style=\"overflow: hidden; white-space: nowrap\"><a href=\"/\">\(words)</a></div>",
            "<div id=cut style=\"overflow: hidden; height: 30px\"><p>\(words)</p></div>",
            """
            <p id=cut style="display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: \
            hidden">
            \(words)</p>
            """,
        ]) func `Text that is cut off is found`(body: String) async throws {
            let found = try await Self.overflowing(body)
            #expect(found.map(\.kind) == [.text] && found.map(\.selector) == ["#cut"], "\(found)")
            #expect(found.first?.text.hasPrefix("many words") == true)
        }

        @Test func `A page that ignores the width of phones is found`() async throws {
            var page = Planted.page("<p>text</p>")
            page.body = page.body.replacing("<meta name=\"viewport\"", with: "<meta name=\"other\"")
            try await Planted.show(page, viewport: .phone) { page, _ in
                let found = try await page.overflowingElements()
                #expect(found.contains { $0.kind == .page }, "\(found)")
            }
        }
    }
}
