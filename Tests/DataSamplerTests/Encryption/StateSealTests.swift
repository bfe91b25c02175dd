import Encryption
import Foundation
import Logging
import Synchronization
import TestKit
import Testing

@testable import DataSampler

/// The two forms of state files, and the pass that changes them.
@Suite(.timeLimit(.minutes(5))) struct StateSealTests {
    private static let text = "planted-plain-text"

    private func keys(_ directory: String, _ source: DeviceKeySource = .file(path: nil)) -> KeyRing {
        source.keyRing(in: directory, now: { 1_800_000_000 }, logger: Logger(label: "test"))
    }

    private func seal(
        _ directory: String, isSealing: Bool = true, _ source: DeviceKeySource = .file(path: nil),
        reached: @escaping @Sendable (StateSeal.Step) -> Void = { _ in }
    ) -> StateSeal {
        StateSeal(
            directory: directory, keys: keys(directory, source), isSealing: isSealing, logger: Logger(label: "test"),
            reached: reached)
    }

    private func bytes(_ directory: String, _ name: String) throws -> Data {
        try Data(contentsOf: URL(filePath: "\(directory)/\(name)"))
    }

    /// Every state file, plain.
    private func plant(_ directory: String) throws {
        for name in StateSeal.names {
            try DurableFile(directory: directory, name: name).replace(with: Data("\(Self.text) \(name)".utf8))
        }
    }

    private func plainNames(_ directory: String) throws -> [String] {
        try StateSeal.names.filter { try bytes(directory, $0).range(of: Data(Self.text.utf8)) != nil }
    }

    private func expectReadable(_ directory: String, _ seal: StateSeal?) throws {
        for name in StateSeal.names {
            let content = try DurableFile(directory: directory, name: name, seal: seal).read()
            #expect(content == Data("\(Self.text) \(name)".utf8), "\(name)")
        }
    }

    @Test func `A start seals every state file, and switching off opens each again`() throws {
        let directory = try TemporaryDirectory()
        try plant(directory.path)
        #expect(try plainNames(directory.path) == StateSeal.names, "the search finds what is there")
        let on = seal(directory.path)
        try on.begin(others: [])
        #expect(try plainNames(directory.path) == [])
        try expectReadable(directory.path, on)
        try expectReadable(directory.path, nil)
        let off = seal(directory.path, isSealing: false)
        try off.begin(others: [])
        #expect(try plainNames(directory.path) == StateSeal.names)
        try expectReadable(directory.path, off)
    }

    @Test(arguments: StateSeal.Step.allCases, [true, false])
    func `A pass that ends at any step leaves every file readable, and the next start goes on`(
        _ step: StateSeal.Step, isSealing: Bool
    ) throws {
        for kill in [1, 6, StateSeal.names.count] {
            let directory = try TemporaryDirectory()
            try plant(directory.path)
            if !isSealing { try seal(directory.path).begin(others: []) }
            // What the disk has at that moment is what a kill leaves.
            let image = try TemporaryDirectory()
            let count = Counter()
            let ending = seal(directory.path, isSealing: isSealing) { reached in
                guard reached == step, count.next() == kill else { return }
                for name in (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? [] {
                    try? FileManager.default.copyItem(
                        atPath: "\(directory.path)/\(name)", toPath: "\(image.path)/\(name)")
                }
            }
            try ending.begin(others: [])
            try expectReadable(image.path, seal(image.path, isSealing: isSealing))
            try seal(image.path, isSealing: isSealing).begin(others: [])
            #expect(try plainNames(image.path) == (isSealing ? [] : StateSeal.names))
            try expectReadable(image.path, nil)
        }
    }

    @Test func `The replaced plain file's blocks are overwritten`() throws {
        let directory = try TemporaryDirectory()
        let file = DurableFile(directory: directory.path, name: IdentityFile.name)
        try file.replace(with: Data(Self.text.utf8))
        // A second name keeps the former file's content in sight.
        let former = directory.file("former")
        try FileManager.default.linkItem(atPath: file.path, toPath: former)
        try seal(directory.path).begin(others: [])
        #expect(try bytes(directory.path, "former") == Data(count: Self.text.utf8.count))
    }

    @Test func `A sealed file is refused under another name, and each changed bit is noticed`() throws {
        let directory = try TemporaryDirectory()
        let seal = seal(directory.path)
        let file = DurableFile(directory: directory.path, name: IdentityFile.name, seal: seal)
        try file.replace(with: Data(Self.text.utf8))
        let sealed = try bytes(directory.path, IdentityFile.name)
        let other = DurableFile(directory: directory.path, name: StoredProfile.fileName, seal: seal)
        try sealed.write(to: URL(filePath: other.path))
        #expect(failure { _ = try other.read() } == .storageDamaged)
        // The first four bytes say that it is sealed at all.
        for index in 4..<sealed.count {
            var changed = sealed
            changed[index] ^= 1
            try changed.write(to: URL(filePath: file.path))
            #expect(failure { _ = try file.read() } != nil, "byte \(index)")
        }
    }

    @Test func `Without its key nothing is read, replaced or set aside, and with the key all is there`() throws {
        let directory = try TemporaryDirectory()
        try PinStateStandIn.write(directory.path, seal(directory.path))
        let key = try bytes(directory.path, "device.key")
        let sealed = try bytes(directory.path, PinKeeper.fileName)
        try FileManager.default.removeItem(atPath: directory.file("device.key"))
        let locked = seal(directory.path)
        try locked.begin(others: [])
        #expect(locked.obstacle?.code == .keyMissing)
        #expect(locked.obstacle?.message.contains("device.key") == true, "the remedy names the file")
        let file = StateFile<PinStateStandIn>(directory: directory.path, name: PinKeeper.fileName, seal: locked)
        #expect(failure { _ = try file.load() } == .keyUnavailable)
        #expect(try file.loadOrKeepAsDamaged { _ in Issue.record("set aside") } == nil)
        #expect(failure { try file.save(PinStateStandIn(text: "other")) } == .keyUnavailable)
        #expect(try bytes(directory.path, PinKeeper.fileName) == sealed)
        #expect(!FileManager.default.fileExists(atPath: directory.file("device.key")), "no key is made anew")
        try key.write(to: URL(filePath: directory.file("device.key")))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: directory.file("device.key"))
        let again = seal(directory.path)
        try again.begin(others: [])
        let found = StateFile<PinStateStandIn>(directory: directory.path, name: PinKeeper.fileName, seal: again)
        #expect(try found.load() == PinStateStandIn(text: Self.text))
    }

    @Test func `Another provider takes the keys over, and the files stay as they are`() throws {
        let directory = try TemporaryDirectory()
        try plant(directory.path)
        try seal(directory.path).begin(others: [])
        let sealed = try bytes(directory.path, IdentityFile.name)
        let host = DeviceKeySource.host { Data(repeating: 7, count: 32) }
        let moved = seal(directory.path, host)
        try moved.begin(others: [])
        try expectReadable(directory.path, moved)
        #expect(try bytes(directory.path, IdentityFile.name) == sealed)
        #expect(!FileManager.default.fileExists(atPath: directory.file("device.key")))
        let wrong = seal(directory.path, .host { Data(repeating: 8, count: 32) })
        try wrong.begin(others: [])
        #expect(wrong.obstacle?.code == .wrongKey)
    }

    @Test func `What survives a wipe is plain while the keys are gone, and is sealed with new ones afterwards`() throws
    {
        let directory = try TemporaryDirectory()
        try plant(directory.path)
        let seal = seal(directory.path)
        try seal.begin(others: [])
        try seal.openWhatSurvives()
        try seal.keys.destroy()
        let identity = DurableFile(directory: directory.path, name: IdentityFile.name, seal: seal)
        #expect(try identity.read() == Data("\(Self.text) \(IdentityFile.name)".utf8))
        try identity.replace(with: Data("\(Self.text) changed".utf8))
        #expect(try identity.read() == Data("\(Self.text) changed".utf8))
        seal.keys.renew()
        #expect(try seal.convertIfDue(others: []))
        #expect(identity.isSealed)
        #expect(try identity.read() == Data("\(Self.text) changed".utf8))
        #expect(try !seal.convertIfDue(others: []), "nothing is left to do")
    }

    @Test func `A wipe of a locked directory removes what nobody can open any more`() throws {
        let directory = try TemporaryDirectory()
        try plant(directory.path)
        try seal(directory.path).begin(others: [])
        try FileManager.default.removeItem(atPath: directory.file("device.key"))
        let locked = seal(directory.path)
        try locked.begin(others: [])
        try locked.openWhatSurvives()
        #expect(!FileManager.default.fileExists(atPath: directory.file(IdentityFile.name)))
    }

    private func failure(_ body: () throws -> Void) -> DataSamplerError.Code? {
        do { try body() } catch { return (error as? DataSamplerError)?.code }
        return nil
    }
}

/// The content of some state file.
private struct PinStateStandIn: Codable, Equatable, Sendable {
    var text = "planted-plain-text"

    static func write(_ directory: String, _ seal: StateSeal) throws {
        try StateFile<PinStateStandIn>(directory: directory, name: PinKeeper.fileName, seal: seal).save(
            PinStateStandIn())
    }
}

/// Counts calls from any thread.
private final class Counter: Sendable {
    private let count = Mutex(0)

    func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}
