import CollectorAPI
import Foundation
import HTTPTypes
import HummingbirdTesting
import LogArchive
import NIOCore
import Registry
import Testing
import WireModel

@testable import Collector

@Suite("Certificate authorities of profiles")
struct ProfileAuthoritiesTests {
    static func base64(_ pem: String) -> String { TestSigningRequests.der(pem).base64EncodedString() }

    private static let (authority, stranger) = (TestCertificates.authority, TestCertificates.stranger)
    private static let ders = [authority, stranger].map(TestSigningRequests.der)

    @Test(arguments: [
        [authority, stranger], [base64(authority), base64(stranger)], [authority + "\n" + stranger + "\n"],
        // A form sends each line of its own.
        (authority + "\n" + stranger).split(separator: "\n").map(String.init),
        [base64(authority)] + stranger.split(separator: "\n").map(String.init),
        [(authority + "\n" + stranger).replacing("\n", with: "\r\n")], [authority, stranger, authority],
    ]) func `Every form in which people give them is read`(_ texts: [String]) throws {
        #expect(try ProfileAuthorities.read(texts) == Self.ders)
    }

    @Test(arguments: [
        (["no-base64"], "certificateAuthorities[0]", "neither PEM nor base64"),
        ([authority, "AQID"], "certificateAuthorities[1]", "is no certificate"),
        (Array(authority.split(separator: "\n").map(String.init).dropLast()), "certificateAuthorities[0]", "cut off"),
        ([authority.replacing("MII", with: "***")], "certificateAuthorities[0]", "damaged"),
        ([TestCertificates.server], "certificateAuthorities[0]", "give the root above it"),
        ([TestCertificates.serverKey], "certificateAuthorities[0]", "holds a PRIVATE KEY"),
    ]) func `What is no root is refused with its place`(_ texts: [String], _ field: String, _ words: String) {
        let problem = #expect(throws: Problem.self) { try ProfileAuthorities.read(texts) }
        #expect(problem?.field == field && problem?.detail?.contains(words) == true, "\(String(describing: problem))")
        #expect(problem?.detail?.contains("MIGHAgEA") == false)
    }

    @Test func `An application's authorities replace those of its organization`() async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            let devices = [try await harness.device(), try await harness.device(application: "application")]
            for (path, pem) in [("default", Self.authority), ("default/application", Self.stranger)] {
                let body = try JSONSerialization.data(withJSONObject: ["certificateAuthorities": [pem]])
                let put = try await client.send(
                    .put, "/api/v1/profiles/\(path)", bearer: harness.administrator, headers: RouteScene.json,
                    body: body)
                #expect(put.status == .ok, "\(String(buffer: put.body))")
            }
            for (device, authority) in zip(devices, Self.ders) {
                let profile = try await client.send(.get, WireNames.profilePath, bearer: device.credential)
                    .message(WireProfile.self)
                #expect(profile.certificateAuthorities == [authority])
            }
        }
    }
}
