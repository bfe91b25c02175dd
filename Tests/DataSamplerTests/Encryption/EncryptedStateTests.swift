import Foundation
import Logging
import StoreTestKit
import TestKit
import Testing
import Transmitter
import WireModel

@testable import DataSampler

/// A data sampler whose directory is encrypted: what is on its disk, and a start without the keys.
@Suite(.timeLimit(.minutes(10))) struct EncryptedStateTests {
    private static let word = "word-that-nobody-may-find"

    private let bench: SamplerBench

    init() {
        var profile = WireProfile.analyticsOn
        profile.logging.scrubValues = [Self.word]
        bench = SamplerBench(profile: profile)
    }

    private func sampler(
        _ directory: String, _ encrypts: Bool? = nil, key: DeviceKeySource = .file(path: nil)
    ) throws -> DataSampler {
        try bench.sampler(directory) {
            $0.encryptsAtRest = encrypts
            $0.deviceKey = key
        }
    }

    /// The state files that hold one of the texts.
    private func findings(_ directory: String, _ texts: [String]) throws -> [String] {
        StateSeal.names.filter { name in
            guard let bytes = FileManager.default.contents(atPath: "\(directory)/\(name)") else { return false }
            return texts.contains { bytes.range(of: Data($0.utf8)) != nil }
        }
    }

    private func enroll(_ sampler: DataSampler) async throws -> String {
        try await SamplerBench.start(sampler)
        try await sampler.reloadProfile()
        try await sampler.setPushToken("push-token-1")
        return try #require(try sampler.running().core.identity.load()).credential
    }

    @Test func `A new directory is encrypted by itself, and credential, profile and push token are not found in it`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let first = try sampler(directory.path)
        let credential = try await enroll(first)
        #expect(try await first.status().encryption == .init(isOn: true, provider: "file"))
        #expect(try findings(directory.path, [credential, Self.word, "push-token-1"]) == [])
        await first.stop()
        #expect(try findings(directory.path, [credential, Self.word, "push-token-1"]) == [])
        let copy = try #require(FileManager.default.contents(atPath: directory.file("queue.sqlite")))
        #expect(copy.range(of: Data(credential.utf8)) == nil, "the copy in the queue is sealed, too")

        let second = try sampler(directory.path)
        try await second.start()
        #expect(try second.running().core.identity.load()?.credential == credential)
        #expect(try second.running().core.storedProfile != nil)
        await second.stop()
        #expect(try await bench.beacons().last?.encryption.provider == "file")
    }

    @Test func `A directory of before stays plain until the setting says otherwise, and can be opened again`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let plain = try sampler(directory.path, false)
        let credential = try await enroll(plain)
        await plain.stop()
        #expect(try findings(directory.path, [credential]) == [IdentityFile.name])
        for (encrypts, isSealed) in [
            (nil, false), (true, true), (nil, true), (false, false), (nil, false),
        ] as [(Bool?, Bool)] {
            let sampler = try sampler(directory.path, encrypts)
            try await sampler.start()
            #expect(try sampler.running().core.identity.load()?.credential == credential)
            #expect(try await sampler.status().encryption?.isOn == isSealed)
            await sampler.stop()
            #expect(try findings(directory.path, [credential]).isEmpty == isSealed)
        }
    }

    @Test func `A wipe destroys the keys, and the device stays enrolled under new ones`() async throws {
        let directory = try TemporaryDirectory()
        let sampler = try sampler(directory.path)
        let credential = try await enroll(sampler)
        let key = FileManager.default.contents(atPath: directory.file("device.key"))
        try await sampler.wipe(reason: "test")
        let core = try sampler.running().core
        #expect(try core.identity.load()?.credential == credential)
        core.sealState()
        #expect(try findings(directory.path, [credential, Self.word]) == [])
        #expect(FileManager.default.contents(atPath: directory.file("device.key")) != key)
        await sampler.stop()
        let again = try self.sampler(directory.path)
        try await again.start()
        #expect(try again.running().core.identity.load()?.credential == credential)
        await again.stop()
    }

    @Test func `Without the passcode a start waits and asks nobody, and the passcode lets it go on as the same device`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let first = try sampler(directory.path, true, key: .passcode)
        try await first.start()
        #expect(try await first.status().encryption?.isLocked == true, "the first passcode is not given yet")
        #expect(try await first.status().enrollment.enrolled == false)
        try await first.enterPasscode("correct horse")
        let credential = try await enrolled(first)
        await first.stop()

        let requests = bench.collector.answered.value
        let second = try sampler(directory.path, true, key: .passcode)
        try await second.start()
        let status = try await second.status()
        #expect(status.encryption?.isLocked == true && status.encryption?.provider == "passcode")
        #expect(status.holding.contains { $0.contains("enter the passcode") }, "\(status.holding)")
        #expect(bench.collector.answered.value == requests, "nobody is asked")
        #expect(
            await SamplerBench.code { () async throws(DataSamplerError) in
                try await second.enterPasscode("wrong horse")
            } == .wrongPasscode)
        #expect(try await second.status().encryption?.isLocked == true)
        try await second.enterPasscode("correct horse")
        #expect(try await second.status().encryption?.isLocked == false)
        #expect(try await enrolled(second) == credential)
        await second.stop()
    }

    @Test func `Given up, the device is a new one, and only while its keys are not at hand`() async throws {
        let directory = try TemporaryDirectory()
        let first = try sampler(directory.path)
        let credential = try await enroll(first)
        #expect(
            await SamplerBench.code { () async throws(DataSamplerError) in try await first.giveUpSealed() }
                == .invalidArgument)
        await first.stop()
        try FileManager.default.removeItem(atPath: directory.file("device.key"))

        let second = try sampler(directory.path)
        try await second.start()
        #expect(try await second.status().encryption?.isLocked == true)
        try await second.giveUpSealed()
        #expect(try await second.status().encryption?.isLocked == false)
        #expect(try await enrolled(second) != credential)
        await second.stop()
    }

    @Test func `A command without an agent says that the keys are not at hand, and shows what is known`() async throws {
        let directory = try TemporaryDirectory()
        let sampler = try sampler(directory.path)
        _ = try await enroll(sampler)
        await sampler.stop()
        try FileManager.default.removeItem(atPath: directory.file("device.key"))
        var configuration = SamplerBench.configuration(directory.path)
        configuration.encryptsAtRest = nil
        let offline = try await OfflineSampler.open(configuration, logger: Logger(label: "test"))
        #expect(try await offline.status().encryption?.reason?.contains("device.key") == true)
        #expect(
            await SamplerBench.code { () async throws(DataSamplerError) in _ = try await offline.sendBeacon() }
                == .keyUnavailable)
        await offline.close()
    }

    /// The credential, once the device is enrolled.
    private func enrolled(_ sampler: DataSampler) async throws -> String {
        try await SamplerBench.until { (try? sampler.running().core.identity.load()) ?? nil != nil }
        return try #require(try sampler.running().core.identity.load()).credential
    }
}
