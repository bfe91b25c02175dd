import Foundation
import TestKit
import Testing
import WireModel

@testable import WipeCertificates

/// What a signature stands for, and what is refused.
@Suite struct SignedWipeCertificateTests {
    private static let seed = Data(0..<32)

    private var key: WipeSigningKey {
        get throws { try #require(WipeSigningKey(rawRepresentation: Self.seed)) }
    }

    static func certificate(
        method: WipeCertificate.Method = .overwritten, keys: Int = 2, organization: String = "default"
    ) -> WipeCertificate {
        WipeCertificate(
            kind: .clearData, command: "7d9f3a52-6c1e-4b0f-9a57-0d6a5f2b8c11",
            device: "0b2d7c1e-93a4-4f0e-8d21-5c6b7a8e9f10", organization: organization,
            collector: "3f5a1c9e-2b7d-4e60-b1a8-c4d2e6f80a12",
            epochs: ["9c4e6a10-7f2b-4d38-a5c1-1e0b3d5f7a92"],
            deviceKey: method == .noKeys
                ? nil
                : WipeCertificate.DeviceKey(provider: "file", fingerprint: "00112233445566778899aabbccddeeff"),
            keys: (0..<keys).map {
                WipeCertificate.Key(
                    id: UInt32(4711 + $0), purpose: $0.isMultiple(of: 2) ? "application" : "queue",
                    fingerprint: "ffeeddccbbaa9988776655443322110" + String($0 % 10))
            }, method: method, records: 12, logSegments: 3, begun: 1_767_225_600_000_000,
            ended: 1_767_225_601_500_000)
    }

    private func code(_ text: String) -> WipeCertificateError.Code? {
        do throws(WipeCertificateError) { _ = try SignedWipeCertificate(text: text) } catch { return error.code }
        return nil
    }

    @Test func `What was signed is read, with every method and kind`() throws {
        for method in WipeCertificate.Method.allCases {
            for kind in [WipeCertificate.Kind.clearData, .enterprise] {
                var certificate = Self.certificate(method: method)
                certificate.kind = kind
                certificate.command = kind == .clearData ? nil : certificate.command
                let signed = try SignedWipeCertificate(certificate, signedWith: key)
                #expect(try SignedWipeCertificate(text: signed.text) == signed)
                #expect(try SignedWipeCertificate(text: signed.text + "\n") == signed)
                #expect(try signed.certificate == certificate && signed.key == key.publicKey)
            }
        }
    }

    /// The bytes are a contract: a collector of later reads what a device of today wrote.
    @Test func `The example of the documentation is a certificate, and has the documented form`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardizedFileURL
        let page = try String(
            contentsOf: root.appending(path: "Schemas/encryption/FORMAT.md"), encoding: .utf8)
        let example = try #require(
            page.components(separatedBy: "\n").first { $0.hasPrefix(#"{"content":{"begun":"#) })
        let signed = try SignedWipeCertificate(text: example)
        #expect(signed.certificate == Self.certificate())
        #expect(try signed.key == key.publicKey)
        let names =
            try #require(
                try JSONSerialization.jsonObject(with: Data(example.utf8)) as? [String: Any])["content"]
            as? [String: Any]
        for name in try #require(names).keys { #expect(page.contains("| `\(name)` |"), "\(name) is not described") }
    }

    @Test func `No bit can be changed, and nothing can be cut off`() throws {
        let text = try SignedWipeCertificate(Self.certificate(), signedWith: key).text
        let bytes = Array(text.utf8)
        for index in bytes.indices {
            #expect(code(String(decoding: bytes.prefix(index), as: UTF8.self)) != nil, "cut at \(index)")
            for bit in 0..<8 {
                var changed = bytes
                changed[index] ^= 1 << bit
                #expect(code(String(decoding: changed, as: UTF8.self)) != nil, "byte \(index), bit \(bit)")
            }
        }
    }

    @Test func `Only one layout counts, so nothing unsigned can be added`() throws {
        let text = try SignedWipeCertificate(Self.certificate(), signedWith: key).text
        for other in [
            " " + text, text + " ", text + "\n\n",
            text.replacing(#""version":1}"#, with: #""version":1,"x":1}"#),
            text.replacing(#"{"content":{"#, with: #"{"content":{"a":"x","#),
            text.replacing(#""records":12"#, with: #""records":12,"records":12"#),
            text.replacing(#""records":12"#, with: #""records":12.0"#),
            text.replacing(#""records":12"#, with: #""records": 12"#),
            text.replacing("default", with: #"\u0064efault"#),
        ] {
            #expect(other != text && code(other) == .invalid, "\(other)")
        }
        #expect(code(text.replacing(#""records":12"#, with: #""records":13"#)) == .wrongSignature)
        #expect(code(text.replacing(#""version":1}"#, with: #""version":2}"#)) == .newerVersion)
    }

    @Test func `Somebody else's key signs for itself alone`() throws {
        let (one, other) = (try key, WipeSigningKey())
        let text = try SignedWipeCertificate(Self.certificate(), signedWith: other).text
        #expect(try SignedWipeCertificate(text: text).key == other.publicKey)
        let mixed = text.replacing(
            other.publicKey.base64EncodedString(), with: one.publicKey.base64EncodedString())
        #expect(code(mixed) == .wrongSignature)
    }

    @Test func `Of many keys the newest are listed, and the others are counted`() throws {
        let certificate = Self.certificate(keys: 500)
        #expect(certificate.keys.count == WipeCertificate.maximumKeys && certificate.otherKeys == 436)
        let newest: UInt32 = 4711 + 499
        #expect(certificate.keys.last?.id == newest)
        let text = try SignedWipeCertificate(certificate, signedWith: key).text
        #expect(text.utf8.count <= SignedWipeCertificate.maximumBytes)
    }

    @Test func `One that would be too long is not made, and not read`() throws {
        let certificate = Self.certificate(organization: String(repeating: "o", count: 20_000))
        #expect(throws: WipeCertificateError.self) { _ = try SignedWipeCertificate(certificate, signedWith: key) }
        #expect(code(String(repeating: "[", count: 1_000_000)) == .invalid)
    }

    /// Like a fuzzer, with a seed that a failure prints.
    @Test func `Garbage is refused, and never more than that`() throws {
        let text = Array(try SignedWipeCertificate(Self.certificate(), signedWith: key).text.utf8)
        let tokens = ["{", "}", "[", "]", "\"", "\\u", "\u{0}", "e999", "-", "null", "9".repeated(400), "\u{FEFF}"]
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix64(seed: seed)
        for round in 0..<3000 {
            var bytes = text
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let at = Int.random(in: 0...bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes.insert(contentsOf: tokens.randomElement(using: &random)?.utf8 ?? "".utf8, at: at)
                case 1: bytes.removeSubrange(at..<min(bytes.count, at + Int.random(in: 1...40, using: &random)))
                case 2 where at < bytes.count: bytes[at] = UInt8.random(in: 0...255, using: &random)
                default: bytes.insert(contentsOf: bytes.suffix(Int.random(in: 1...64, using: &random)), at: at)
                }
            }
            let changed = String(decoding: bytes, as: UTF8.self)
            guard changed != String(decoding: text, as: UTF8.self) else { continue }
            // A line feed at the end alone is no change.
            guard changed != String(decoding: text, as: UTF8.self) + "\n" else { continue }
            #expect(code(changed) != nil, "seed \(seed), round \(round)")
        }
    }
}

extension String {
    fileprivate func repeated(_ count: Int) -> String { String(repeating: self, count: count) }
}
