import CollectorAPI
import Foundation
import JSON
import Testing

@testable import Console

@Suite("The pages Certificates and About") struct CertificatesPageTests {
    private static let path = "/certificates"

    private static func certificate(until: String, from: String = "2025-01-01T00:00:00.000000Z") -> JSONValue {
        [
            "subject": "CN=collector.example", "names": ["collector.example", "192.0.2.7"], "issuer": "CN=Example CA",
            "serial": "0a1b", "validFrom": .text(from), "validUntil": .text(until), "keyPin": "c2VjcmV0LXBpbg==",
        ]
    }

    private static func answer(until: String) -> JSONValue {
        [
            "server": [
                "certificateFile": "/etc/ws1/cert.pem", "keyFile": "/etc/ws1/key.pem",
                "chain": [certificate(until: until)],
            ],
            "devices": ["certificates": "off"],
        ]
    }

    private func page(_ answer: JSONValue, base: String = "") async throws -> String {
        let harness = try ConsoleHarness(["GET /api/v1/certificates": answer])
        let page = try await harness.page(Self.path, harness.visit(Self.path, base: base))
        #expect(page.status == 200)
        return page.html
    }

    @Test func `The server's certificate is shown with names, pin and days left`() async throws {
        let html = try await page(Self.answer(until: "2027-01-02T03:04:05.000000Z"))
        for text in [
            "CN=collector.example", "192.0.2.7", "CN=Example CA", "c2VjcmV0LXBpbg==", "/etc/ws1/cert.pem",
            #"<span class="state good">365 days left</span>"#, "every minute",
        ] { #expect(html.contains(text), "\(text)") }
        #expect(!html.contains("serves plain HTTP") && html.contains("Nobody has made a backup key"))
    }

    @Test(arguments: [
        ("2026-01-22T03:04:05.000000Z", "warn", "20 days left"), ("2026-01-05T03:04:05.000000Z", "bad", "3 days left"),
        ("2026-01-02T03:04:04.000000Z", "bad", "ended"),
    ]) func `The end is marked in time`(until: String, state: String, word: String) async throws {
        let html = try await page(Self.answer(until: until))
        #expect(html.contains(#"<span class="state \#(state)">\#(word)</span>"#))
    }

    @Test func `A certificate of the future is not good`() async throws {
        let chain: JSONValue = [
            Self.certificate(until: "2028-01-01T00:00:00.000000Z", from: "2027-01-01T00:00:00.000000Z")
        ]
        let html = try await page(["server": ["chain": chain], "devices": ["certificates": "off"]])
        #expect(html.contains(#"<span class="state bad">not valid yet</span>"#))
    }

    @Test func `Plain HTTP is reported with what to do`() async throws {
        let html = try await page(["server": .null, "devices": ["certificates": "off"]])
        #expect(html.contains("serves plain HTTP") && html.contains("--tls-certificate FILE"))
        #expect(html.contains("a proxy encrypts before it"), "the browser came by https")
    }

    @Test func `Files that cannot be read again are an alert`() async throws {
        let answer = Self.answer(until: "2027-01-02T03:04:05.000000Z")
        let html = try await page(answer.with(["server": answer["server"].with(["failure": "no <key>"])]))
        #expect(html.contains(#"role="alert""#) && html.contains("no &lt;key&gt;"))
    }

    @Test func `The authority of devices is shown`() async throws {
        let html = try await page([
            "server": .null, "backupPin": "YmFja3Vw",
            "devices": [
                "certificates": "required", "authorityFile": "/etc/ws1/ca.pem", "validDays": 90,
                "authorities": [Self.certificate(until: "2036-01-01T00:00:00.000000Z")],
            ],
        ])
        #expect(html.contains("Certificates of devices are required, and valid for 90 days"))
        #expect(html.contains("/etc/ws1/ca.pem") && html.contains("YmFja3Vw"))
    }

    @Test func `About has versions and licences`() async throws {
        let harness = try ConsoleHarness([
            "GET /api/v1/about": [
                "version": "1.2.3", "sqliteVersion": "3.46.1", "operatingSystem": "Debian", "collector": "c0",
                "startedAt": "2026-01-02T03:04:00.000000Z", "dataDirectory": "/var/lib/ws1collector",
            ]
        ])
        let page = try await harness.page("/about", harness.visit("/about", role: .viewer))
        for text in [
            "ws1collector 1.2.3", "3.46.1", "5 s ago", "/var/lib/ws1collector", "chart.js.LICENSE.txt", "LICENSE.txt",
        ] { #expect(page.html.contains(text), "\(text)") }
    }
}
