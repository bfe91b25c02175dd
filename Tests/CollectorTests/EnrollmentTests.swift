import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Registry
import Testing
import WireModel

@Suite("Enrollment over HTTP")
struct EnrollmentTests {
    @Test func `A token gives a credential that works, and unenrolling ends it`() async throws {
        let harness = Harness()
        try await harness.route { client in
            var request = WireEnrollRequest()
            request.deviceName = "kiosk-7"
            let response = try await client.post(WireNames.enrollPath, bearer: "enroll-default", request.encoded)
            #expect(response.status == .ok)
            let answer = try response.message(WireEnrollAnswer.self)
            #expect(answer.deviceID.count == 16)
            #expect(answer.organization == "default")
            #expect(answer.collectorID == harness.metadata.collectorID.data)
            #expect(answer.incarnationID == harness.metadata.incarnationID.data)
            #expect(answer.serverTime == Harness.now)

            let commands = try await client.send(.get, WireNames.commandsPath, bearer: answer.credential)
            let news = try commands.message(WireCommandsAnswer.self)
            #expect(news.commands.isEmpty && news.profileRevision == 1 && news.serverTime == Harness.now)
            let rotated = try await client.send(.post, WireNames.rotatePath, bearer: answer.credential)
            let credential = try rotated.message(WireRotateAnswer.self).credential
            #expect(credential != answer.credential)
            #expect(try await client.send(.post, WireNames.unenrollPath, bearer: credential).status == .noContent)
            #expect(try await client.send(.get, WireNames.commandsPath, bearer: credential).status == .forbidden)
        }
    }

    @Test func `What is not an enroll request is refused and enrolls nothing`() async throws {
        let harness = Harness()
        var bad = WireEnrollRequest()
        bad.deviceID = Data([1, 2, 3])
        let bodies = [bad.encoded, Data([0xFF, 0xFF]), Data(repeating: 0x0A, count: 65 * 1024)]
        try await harness.route { client in
            for body in bodies {
                let response = try await client.post(WireNames.enrollPath, bearer: "enroll-default", body, gzip: false)
                #expect([400, 413].contains(response.status.code))
                _ = try response.problem
            }
        }
        #expect(try await harness.metadata.deviceIDs(organization: nil, withTest: true).isEmpty)
    }

    @Test func `The profile is sent once and then not modified`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        try await harness.route { client in
            let first = try await client.send(.get, WireNames.profilePath, bearer: device.credential)
            #expect(try first.message(WireProfile.self).revision == 1)
            let tag = try #require(first.headers[.eTag])
            let second = try await client.send(
                .get, WireNames.profilePath, bearer: device.credential, headers: [.ifNoneMatch: tag])
            #expect(second.status == .notModified)
            #expect(second.body.readableBytes == 0)
            let third = try await client.send(
                .get, WireNames.profilePath, bearer: device.credential, headers: [.ifNoneMatch: "\"6\""])
            #expect(third.status == .ok)
        }
    }
}
