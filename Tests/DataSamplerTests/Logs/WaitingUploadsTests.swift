@testable import DataSampler
import FoundationEssentials
import Testing
@testable import Transmitter
import WireModel

/// What the status says about uploads of logs.
@Suite struct WaitingUploadsTests {
    private static func upload(
        _ number: UInt8, of application: String, type: WireLogType = .application, waitsFor detail: String
    ) -> LogUpload {
        var manifest = WireUploadManifest()
        manifest.uploadID = Data(repeating: number, count: 16)
        manifest.type = type
        manifest.application = application
        var upload = LogUpload(manifest: manifest, plan: Data(), accepted: 0)
        upload.detail = detail
        return upload
    }

    @Test func `The status says which application's logs wait and why`() {
        let words = SamplerCore.waiting([
            Self.upload(1, of: "com.example.kiosk", waitsFor: "507 log-quota-exceeded"),
            Self.upload(2, of: "com.example.kiosk", waitsFor: "507 log-quota-exceeded"),
            Self.upload(3, of: "com.example.kiosk", type: .crash, waitsFor: "507 log-quota-exceeded"),
            Self.upload(4, of: "com.example.other", waitsFor: ""),
            Self.upload(5, of: "", waitsFor: "nobody answers"),
        ])
        #expect(
            words == [
                "logs of com.example.kiosk wait: 507 log-quota-exceeded (2 uploads)",
                "crash logs of com.example.kiosk wait: 507 log-quota-exceeded",
                "logs wait: nobody answers",
            ])
    }
}
