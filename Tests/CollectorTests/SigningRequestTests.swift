import Foundation
import Testing
import WireModel

@testable import Collector

@Suite("Certificate signing requests")
struct SigningRequestTests {
    @Test(arguments: [
        TestSigningRequests.first, TestSigningRequests.p384, TestSigningRequests.rsa2048,
    ])
    func `Signing requests with good keys are accepted`(pem: String) throws {
        _ = try SigningRequest(der: TestSigningRequests.der(pem))
    }

    @Test(arguments: [
        (TestSigningRequests.rsa1024, "csr-key"), (TestSigningRequests.p521, "csr-key"),
        (TestSigningRequests.k256, "csr-key"),
        (TestSigningRequests.ed25519, "csr-key"),
        (TestSigningRequests.sha1, "csr-signature"),
    ])
    func `Signing requests with other keys are refused`(pem: String, code: String) {
        let problem = #expect(throws: Problem.self) { _ = try SigningRequest(der: TestSigningRequests.der(pem)) }
        #expect(problem?.code == code && problem?.status == 400)
    }

    @Test func `A signing request that is too large is not looked at`() {
        let problem = #expect(throws: Problem.self) {
            _ = try SigningRequest(der: Data(count: SigningRequest.maximumBytes + 1))
        }
        #expect(problem?.code == "csr-too-large")
    }

    /// Whatever is cut off or changed: it is refused as what it is, and nothing traps.
    @Test(arguments: [TestSigningRequests.first, TestSigningRequests.rsa2048])
    func `A signing request that was tampered with is refused`(pem: String) throws {
        let whole = TestSigningRequests.der(pem)
        for count in 0..<whole.count {
            let problem = #expect(throws: Problem.self, "\(count)") { _ = try SigningRequest(der: whole.prefix(count)) }
            #expect(["csr-malformed", "csr-key"].contains(problem?.code))
        }
        let key = try SigningRequest(der: whole).key
        // What stands behind the signed part is the signature itself, which has a few bits that mean nothing.
        let signedBytes = whole.count - (pem == TestSigningRequests.rsa2048 ? 280 : 90)
        for place in 0..<whole.count {
            var changed = whole
            changed[place] ^= 0x01
            do throws(Problem) {
                let taken = try SigningRequest(der: changed)
                #expect(taken.key == key && place >= signedBytes, "\(place)")
            } catch {
                #expect(["csr-malformed", "csr-signature", "csr-key"].contains(error.code), "\(place)")
            }
        }
    }
}
