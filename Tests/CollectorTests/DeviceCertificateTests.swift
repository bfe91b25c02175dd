import CollectorAPI
import Foundation
import Logging
import NIOHTTP1
import NIOSSL
import Registry
import Synchronization
import Testing
import WireModel

@testable import Collector
@testable import CollectorCommands

/// Over TLS on the loopback, with requests that openssl made.
@Suite("Devices' client certificates", .timeLimit(.minutes(2)))
struct DeviceCertificateTests {
    private final class Written: Sendable {
        private let kept = Mutex<[String]>([])
        var lines: [String] { kept.withLock { $0 } }
        func add(_ line: Data) { kept.withLock { $0.append(String(decoding: line, as: UTF8.self)) } }
    }

    @Test func `A device gets a certificate when it enrolls and is served with it alone`() async throws {
        try await CertificateScene.play { scene in
            let held = try await scene.enroll()
            #expect(!held.certificate.isEmpty)
            let without = try await scene.ask(held)
            #expect(without.status == 401 && without.code == Problem.Code.certificateRequired.rawValue)
            #expect(try await scene.ask(held, showing: held.shown).status == 200)
            // It stays good, and stands for no credential.
            #expect(try await scene.ask(held, showing: held.shown).status == 200)
            var stranger = held
            stranger.credential = "ws1d_wrong"
            #expect(try await scene.ask(stranger, showing: held.shown).status == 401)
        }
    }

    /// Whatever the request asks for: subject, names and use are the collector's.
    @Test func `Only the key is the request's`() async throws {
        try await CertificateScene.play { scene in
            let held = try await scene.enroll()
            let certificates = try NIOSSLCertificate.fromPEMBytes(Array(held.certificate.utf8))
            #expect(certificates.count == 1)
            let leaf = try #require(certificates.first)
            let names = leaf._subjectAlternativeNames().map { String(decoding: $0.contents, as: UTF8.self) }
            #expect(names == ["urn:ws1:device:\(held.device)"])
            let now = CertificateScene.presentTime / 1_000_000
            #expect(
                Int64(leaf.notValidBefore) <= now - 290 && abs(Int64(leaf.notValidAfter) - now - 90 * 86_400) < 3600)
            #expect(leaf.description.contains("\(held.device)") && !leaf.description.contains("administrator"))
            #expect(leaf.serialNumber.count == 16)
        }
    }

    @Test(arguments: [CertificateScene.Mode.optional, .required])
    func `Another device's certificate is refused`(mode: CertificateScene.Mode) async throws {
        try await CertificateScene.play(mode) { scene in
            let first = try await scene.enroll()
            let second = try await scene.enroll(TestSigningRequests.second, key: TestSigningRequests.secondKey)
            let answer = try await scene.ask(first, showing: second.shown)
            #expect(answer.status == 403 && answer.code == "certificate-mismatch")
        }
    }

    @Test func `A certificate of another authority gives no connection`() async throws {
        let files = try ServerFiles()
        let foreign = try files.deviceCA(name: "foreign")
        let authority = try DeviceAuthority(certificate: foreign.certificate, key: foreign.key)
        try await CertificateScene.play(.optional) { scene in
            let held = try await scene.enroll()
            let request = try SigningRequest(der: TestSigningRequests.der(TestSigningRequests.first))
            let forged = try #require(
                try authority.issue(request, to: held.device, of: "default", at: CertificateScene.presentTime))
            let shown = (String(decoding: forged.chain, as: UTF8.self), TestSigningRequests.firstKey)
            await #expect(throws: (any Error).self) { _ = try await scene.ask(held, showing: shown) }
            #expect(try await scene.ask(held).status == 200, "optional")
        }
    }

    /// One that the authority has signed and this collector does not remember, such as one made with a stolen key.
    @Test func `A certificate that the collector did not issue is refused`() async throws {
        try await CertificateScene.play { scene in
            let held = try await scene.enroll()
            let request = try SigningRequest(der: TestSigningRequests.der(TestSigningRequests.first))
            let forged = try #require(
                try scene.authority.issue(request, to: held.device, of: "default", at: CertificateScene.presentTime))
            let answer = try await scene.ask(held, showing: (String(decoding: forged.chain, as: UTF8.self), held.key))
            #expect(answer.status == 401 && answer.code == Problem.Code.certificateUnknown.rawValue)
        }
    }

    @Test func `An expired one gives no connection, and one that expires on a connection is refused`() async throws {
        // By the collector's clock of long ago it is good; the handshake goes by the machine's.
        try await CertificateScene.play(now: Harness.now) { scene in
            let held = try await scene.enroll()
            await #expect(throws: (any Error).self) { _ = try await scene.ask(held, showing: held.shown) }
        }
        try await CertificateScene.play(days: 1) { scene in
            let held = try await scene.enroll()
            try await scene.connect(showing: held.shown) { client in
                #expect(try await client.send(.GET, WireNames.commandsPath, bearer: held.credential).status == 200)
                scene.harness.clock.advance(seconds: 86_401)
                let late = try await client.send(.GET, WireNames.commandsPath, bearer: held.credential)
                #expect(late.status == 401 && late.code == Problem.Code.certificateExpired.rawValue)
            }
        }
    }

    @Test func `A device that is refused again and again fills one line of the log a minute`() async throws {
        let written = Written()
        let logger = Logger(label: "test") { _ in
            JSONLinesLogHandler(level: SharedLogLevel(.warning), write: written.add)
        }
        try await CertificateScene.play(logger: logger) { scene in
            let held = try await scene.enroll()
            for _ in 1...3 { #expect(try await scene.ask(held).code == Problem.Code.certificateRequired.rawValue) }
            let lines = written.lines.filter { $0.contains("device certificate refused") }
            #expect(lines.count == 1, "\(lines)")
            let names = ["\(held.device)", Problem.Code.certificateRequired.rawValue]
            #expect(names.allSatisfy { lines.first?.contains($0) == true }, "\(lines)")
        }
    }

    @Test func `A revoked device's certificate is of no use`() async throws {
        try await CertificateScene.play { scene in
            let held = try await scene.enroll()
            #expect(try await scene.ask(held, showing: held.shown).status == 200)
            _ = try await scene.harness.metadata.revokeDevice(held.device, organization: nil, by: .commandLine)
            let answer = try await scene.ask(held, showing: held.shown)
            #expect(answer.status == 403 && answer.code == Problem.Code.revoked.rawValue)
        }
    }

    /// The answer that carries the new one may be lost: the former one is good until the new one is used, and not
    /// after.
    @Test func `A renewal ends the former one when it is first used`() async throws {
        try await CertificateScene.play { scene in
            let held = try await scene.enroll()
            let lost = try await scene.renew(held)
            #expect(lost.certificate != held.certificate)
            let renewed = try await scene.renew(held)
            #expect(try await scene.ask(held, showing: held.shown).status == 200)
            #expect(try await scene.ask(renewed, showing: renewed.shown).status == 200)
            for former in [held, lost] {
                let answer = try await scene.ask(renewed, showing: former.shown)
                #expect(answer.status == 401 && answer.code == Problem.Code.certificateUnknown.rawValue)
            }
            // With its token it is let in again from any of these.
            let again = try await scene.enroll(again: renewed)
            #expect(again.device == held.device)
            #expect(try await scene.ask(again, showing: again.shown).status == 200)
        }
    }

    @Test func `Where they are optional, a device may come without and ask for one later`() async throws {
        try await CertificateScene.play(.optional) { scene in
            let enrolled = try await scene.harness.device()
            let held = CertificateScene.Held(
                device: enrolled.deviceID, credential: enrolled.credential, certificate: "", key: "")
            #expect(try await scene.ask(held).status == 200)
            let renewed = try await scene.renew(held)
            #expect(try await scene.ask(renewed, showing: renewed.shown).status == 200)
            #expect(try await scene.ask(renewed).status == 200)
        }
    }

    @Test func `Where they are off, a request for one is not looked at`() async throws {
        try await CertificateScene.play(.off) { scene in
            let held = try await scene.enroll(TestSigningRequests.rsa1024)
            #expect(held.certificate.isEmpty)
            #expect(try await scene.ask(held).status == 200)
        }
    }

    @Test func `A request that cannot be used enrolls nothing`() async throws {
        try await CertificateScene.play { scene in
            let held = try await scene.enroll()
            var tampered = TestSigningRequests.der(TestSigningRequests.second)
            tampered[tampered.count - 1] ^= 1
            for (der, code) in [
                (tampered, "csr-signature"), (Data("nonsense".utf8), "csr-malformed"),
                (Data(count: 20_000), "csr-too-large"),
                (TestSigningRequests.der(TestSigningRequests.rsa1024), "csr-key"),
            ] {
                var (enroll, rotate) = (WireEnrollRequest(), WireRotateRequest())
                enroll.certificateSigningRequest = der
                rotate.certificateSigningRequest = der
                let bodies = (enroll.encoded, rotate.encoded)
                try await scene.connect(showing: held.shown) { client in
                    let first = try await client.send(
                        .POST, WireNames.enrollPath, bearer: scene.harness.enrollmentToken, bodies.0)
                    #expect(first.status == 400 && first.code == code)
                    let second = try await client.send(.POST, WireNames.rotatePath, bearer: held.credential, bodies.1)
                    #expect(second.status == 400 && second.code == code)
                }
            }
            #expect(
                try await scene.harness.metadata.devices(organization: nil, after: nil, limit: 10).devices.count == 1)
            #expect(try await scene.ask(held, showing: held.shown).status == 200, "no credential was rotated")
        }
    }

    @Test func `People need none and see the devices'`() async throws {
        try await CertificateScene.play { scene in
            let held = try await scene.enroll()
            _ = try await scene.ask(held, showing: held.shown)
            let viewer = try await scene.harness.person(.viewer)
            let administrator = scene.harness.administrator
            try await scene.connect { client in
                let answer = try await client.send(.GET, "/api/v1/devices/\(held.device)", bearer: viewer)
                let device = JSONObject(
                    fields: try #require(try JSONSerialization.jsonObject(with: answer.body) as? [String: Any]))
                let certificate = try #require(device.objects("certificates").first)
                #expect(certificate.text("serial")?.count == 32 && certificate.text("usedAt") != nil)
                #expect(try #require(certificate.text("expiresAt")) > (try #require(certificate.text("issuedAt"))))
                let audit = try await client.send(.GET, "/api/v1/audit?action=certificate-issue", bearer: administrator)
                let trail = JSONObject(
                    fields: try #require(try JSONSerialization.jsonObject(with: audit.body) as? [String: Any]))
                let entry = try #require(trail.objects("items").first)
                #expect(entry.text("subject") == "\(held.device)" && entry.text("actor") == "device \(held.device)")
                #expect(entry.object("detail")?.text("serial") == certificate.text("serial"))
                let metrics = try await client.send(.GET, "/metrics", bearer: administrator)
                #expect(
                    String(decoding: metrics.body, as: UTF8.self).contains("\nws1_device_ca_expiry_timestamp_seconds "))
            }
        }
    }

    /// With other client authorities every client has to show a certificate; a device's is one of those that will do.
    @Test func `Beside other client authorities, a device's certificate opens the connection`() async throws {
        try await CertificateScene.play(clientCA: true) { scene in
            let factory = (TestCertificates.client, TestCertificates.clientKey)
            var request = WireEnrollRequest()
            request.certificateSigningRequest = TestSigningRequests.der(TestSigningRequests.first)
            let body = request.encoded
            await #expect(throws: (any Error).self) {
                try await scene.connect {
                    _ = try await $0.send(.POST, WireNames.enrollPath, bearer: scene.harness.enrollmentToken, body)
                }
            }
            let answer = try await scene.connect(showing: factory) {
                try await $0.send(.POST, WireNames.enrollPath, bearer: scene.harness.enrollmentToken, body)
            }
            let granted = try WireEnrollAnswer.decode(answer.body)
            let held = CertificateScene.Held(
                device: try #require(DeviceID(granted.deviceID)), credential: granted.credential,
                certificate: String(decoding: granted.certificate, as: UTF8.self), key: TestSigningRequests.firstKey)
            #expect(try await scene.ask(held, showing: held.shown).status == 200)
            #expect(try await scene.ask(held, showing: factory).code == Problem.Code.certificateRequired.rawValue)
        }
    }
}
