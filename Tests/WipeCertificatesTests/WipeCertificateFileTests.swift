import Foundation
import Testing
import WireModel

@testable import WipeCertificates

/// What a collector keeps of a certificate, and what of it a file holds.
@Suite struct WipeCertificateFileTests {
    private let key = WipeSigningKey()
    private let certificate = SignedWipeCertificateTests.certificate()

    private func signed() throws -> String { try SignedWipeCertificate(certificate, signedWith: key).text }

    private func collector(
        _ change: (inout WipeCertificateFile.Collector) -> Void = { _ in }
    ) -> WipeCertificateFile.Collector {
        var collector = WipeCertificateFile.Collector(
            id: certificate.collector, organization: certificate.organization, device: certificate.device,
            command: certificate.command ?? "", received: 1, enrolled: 2, enrollmentToken: "t", key: key.publicKey)
        change(&collector)
        return collector
    }

    private func finding(
        _ document: String, kind: String = "wipe", _ change: (inout WipeCertificateFile.Collector) -> Void = { _ in }
    ) -> String? {
        WipeCertificateFile(document: document, kind: kind, collector: collector(change)).collector?.finding
    }

    @Test func `The registered key and the same wipe are verified`() throws {
        #expect(try finding(signed()) == nil)
    }

    @Test func `Each contradiction has a finding of its own`() throws {
        let text = try signed()
        let findings = [
            finding(text) { $0.device = "another" }, finding(text) { $0.id = "another" },
            finding(text) { $0.organization = "another" }, finding(text) { $0.command = "another" },
            finding(text, kind: "enterprise-wipe"), finding(text) { $0.key = nil },
            finding(text) { $0.key = WipeSigningKey().publicKey }, finding(text.replacing("default", with: "defaulT")),
            finding("no certificate"),
        ]
        #expect(!findings.contains(nil))
        #expect(Set(findings).count == findings.count)
    }

    @Test func `Whatever arrived is kept as it is, cut at the limit`() throws {
        for document in ["", "garbage \u{0}", "{}", try signed()] {
            let file = WipeCertificateFile(document: document, kind: "wipe", collector: collector())
            #expect(try WipeCertificateFile(bytes: file.encoded()) == file)
            #expect(file.document == document)
        }
        let long = WipeCertificateFile(
            document: String(repeating: "é", count: 20_000), kind: "wipe", collector: collector())
        #expect(long.document?.utf8.count == SignedWipeCertificate.maximumBytes)
        #expect(long.collector?.finding?.contains("too long") == true)
    }

    @Test func `A file is read from a collector, from a device, and as the certificate alone`() throws {
        let text = try signed()
        let printed = try WipeCertificateFile(document: text, remark: nil).encoded()
        for bytes in [printed, Data(text.utf8), Data("\(text)\n".utf8)] {
            let file = try WipeCertificateFile(bytes: bytes)
            #expect(file.collector == nil)
            #expect(try SignedWipeCertificate(text: file.document ?? "").certificate == certificate)
        }
        let none = try WipeCertificateFile(bytes: Data(#"{"remark":"no certificate"}"#.utf8))
        #expect(none.document == nil && none.remark == "no certificate")
        #expect(throws: WipeCertificateError.self) {
            _ = try WipeCertificateFile(bytes: Data(count: WipeCertificateFile.maximumBytes + 1))
        }
    }
}
