import Foundation
import Testing
import WireModel

@testable import Collector
@testable import Registry

@Suite("What a device shows in its handshake")
struct CertificateVerdictTests {
    private static let now = Harness.now
    private let files: ServerFiles

    init() throws { files = try ServerFiles() }

    private static func device(_ id: DeviceID, _ certificates: [DeviceCertificate] = []) -> DeviceRow {
        DeviceRow(
            id: id, organization: "default", name: "", operatingSystem: WireOperatingSystem(), agentVersion: "",
            application: "",
            machineHash: "", test: false, created: 0, enrolled: 0, certificates: certificates)
    }

    private func issue(to device: DeviceID) throws -> (shown: ShownCertificate, record: DeviceCertificate) {
        let ca = try files.deviceCA()
        let request = try SigningRequest(der: TestSigningRequests.der(TestSigningRequests.first))
        let authority = try DeviceAuthority(certificate: ca.certificate, key: ca.key)
        let issued = try #require(try authority.issue(request, to: device, of: "default", at: Self.now))
        let pem = String(decoding: issued.chain, as: UTF8.self)
        return (ShownCertificate(der: Array(TestSigningRequests.der(pem))), issued.record)
    }

    @Test func `A device's own certificate is admitted until it ends`() throws {
        let id = DeviceID.random()
        var (shown, record) = try issue(to: id)
        #expect(shown.fingerprint == record.fingerprint && shown.device == id)
        for isRequired in [false, true] {
            func verdict(_ now: Int64) -> CertificateVerdict {
                CertificateVerdict(isRequired: isRequired, shown: shown, device: Self.device(id, [record]), at: now)
            }
            record.used = nil
            #expect(verdict(Self.now) == .admittedAnew(fingerprint: record.fingerprint))
            record.used = Self.now
            #expect(verdict(Self.now) == .admitted)
            #expect(verdict(record.expires - 1) == .admitted)
            #expect(verdict(record.expires) == .refused(.certificateExpired))
        }
    }

    @Test func `Another device's certificate is refused, and so is one that is not remembered`() throws {
        let id = DeviceID.random()
        let (shown, record) = try issue(to: id)
        for isRequired in [false, true] {
            #expect(
                CertificateVerdict(isRequired: isRequired, shown: shown, device: Self.device(.random()), at: Self.now)
                    == .refused(.certificateOfAnother))
            var other = record
            other.fingerprint = Data(count: 32)
            #expect(
                CertificateVerdict(isRequired: isRequired, shown: shown, device: Self.device(id, [other]), at: Self.now)
                    == .refused(.certificateUnknown))
        }
    }

    /// One of `--client-ca` is nobody's: it neither helps nor harms.
    @Test func `No certificate, or one of no device, is refused only where one is required`() {
        let client = ShownCertificate(der: Array(TestSigningRequests.der(TestCertificates.client)))
        for shown in [nil, client, ShownCertificate(der: [1, 2, 3])] {
            let device = Self.device(.random())
            #expect(CertificateVerdict(isRequired: false, shown: shown, device: device, at: Self.now) == .admitted)
            #expect(
                CertificateVerdict(isRequired: true, shown: shown, device: device, at: Self.now)
                    == .refused(.certificateRequired))
        }
    }
}
