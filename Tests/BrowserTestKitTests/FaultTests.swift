import BrowserTestKit
import Testing

extension BrowserKitTests {
    @Suite struct FaultTests {
        @Test func `A clean page has no findings or faults`() async throws {
            let page = Planted.page("<p>Fine</p>", policy: "default-src 'none'; img-src data:")
            let faults = try await Planted.show(page) { page, server in
                try await page.faults(allowedOrigin: server.origin)
            }
            #expect(faults == [])
        }

        @Test(arguments: [
            ("<script>console.error('planted')</script>", "console error: planted"),
            ("<img src=\"http://192.0.2.1/a.png\" alt=\"\">", "request to another origin: GET http://192.0.2.1/a.png"),
            ("<p class=pale>pale</p>", "dark: color-contrast"),
            ("<p class=wide>wide</p>", "390 pixels: "),
        ]) func `Each kind is reported once, with its place`(body: String, fault: String) async throws {
            let style = """
                :root { color-scheme: light dark; background: light-dark(#fff, #111) }
                body { color: light-dark(#111, #eee) } .pale { color: light-dark(#111, #222) } .wide { width: 800px }
                """
            try await Planted.show(Planted.page(body, style: style)) { page, server in
                let faults = try await page.faults(allowedOrigin: server.origin)
                #expect(faults.contains { $0.hasPrefix(fault) }, "\(faults)")
                #expect(!faults.contains { $0.hasPrefix("light: ") || $0.hasPrefix("1280 pixels") }, "\(faults)")
            }
        }

        @Test(arguments: [
            "<p>harbor-17</p>", "<a href=\"/devices/harbor-17\">a device</a>", "<!-- harbor-17 -->",
            "<div hidden>harbor-17</div>", "<span data-name=\"harbor-17\">x</span>",
        ]) func `What belongs to others is found wherever it stands`(body: String) async throws {
            let mentions = try await Planted.show(Planted.page(body)) { page, _ in
                try await page.mentions(of: ["harbor-17", "harbor-18"])
            }
            #expect(mentions == ["harbor-17"])
        }
    }
}
