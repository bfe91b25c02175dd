import Crypto
import Dispatch
import Foundation
import Glibc
import Logging
import Synchronization
import TelemetryBasics
import TestKit
import Testing

@testable import Encryption

/// The keys of a directory: made, found again, replaced, moved between providers, destroyed, and killed in between.
@Suite struct KeyRingTests {
    private let directory: TemporaryDirectory
    private let clock = ManualSeconds()

    init() throws { directory = try TemporaryDirectory() }

    final class ManualSeconds: Sendable {
        private let value = Atomic<Int64>(1_000_000)
        var now: Int64 { value.load(ordering: .relaxed) }
        func advance(_ seconds: Int64) { value.add(seconds, ordering: .relaxed) }
    }

    private var keysPath: String { directory.file("keys") }
    private var deviceKey: KeyFileProvider { KeyFileProvider(path: directory.file("device.key")) }

    private func ring(
        _ provider: (any DeviceKeyProvider)?, former: [any DeviceKeyProvider] = [], in path: String? = nil,
        reached: @escaping @Sendable (KeysFile.Step) -> Void = { _ in }
    ) -> KeyRing {
        KeyRing(
            file: KeysFile(directory: path ?? directory.path, reached: reached), provider: provider, former: former,
            now: { [clock] in clock.now },
            makeParameters: {
                PasscodeParameters(salt: "000102030405060708090a0b0c0d0e0f", rounds: PasscodeParameters.leastRounds)
            }, logger: Logger(label: "test"))
    }

    private func ring() -> KeyRing { ring(deviceKey) }

    private func code(_ body: () throws(EncryptionError) -> Void) -> EncryptionError.Code? {
        do throws(EncryptionError) { try body() } catch { return error.code }
        return nil
    }

    private func codeOfOpening(_ envelope: Data, with ring: KeyRing) -> EncryptionError.Code? {
        code { () throws(EncryptionError) in _ = try open(envelope, with: ring) }
    }

    private func seal(_ text: String, with ring: KeyRing) throws -> Data {
        try Envelope.seal(Data(text.utf8), label: "", with: ring.sealingKey(for: .application))
    }

    private func open(_ envelope: Data, with ring: KeyRing) throws(EncryptionError) -> String {
        let id = try Envelope.keyID(of: envelope, purpose: .application)
        let key = try ring.key(id, for: .application)
        return String(decoding: try Envelope.open(envelope, label: "", with: key), as: UTF8.self)
    }

    // MARK: Making and finding

    @Test func `A key is found again after a restart, and its files are the owner's alone`() throws {
        let sealed = try seal("secret", with: ring())
        #expect(try open(sealed, with: ring()) == "secret")
        for name in ["keys", "device.key"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: directory.file(name))
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test func `Asking for the status makes nothing`() throws {
        let status = ring().status
        #expect(status.provider == .file && status.obstacle == nil && status.keys.isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
        let key = try ring().sealingKey(for: .application)
        let made = ring().status
        #expect(made.keys.map(\.id) == [key.id] && made.keys.map(\.fingerprint) == [key.secret.fingerprint])
    }

    @Test func `Each purpose has a key of its own, which opens nothing of another`() throws {
        let keys = ring()
        let ids = try KeyPurpose.allCases.map { try keys.sealingKey(for: $0).id }
        #expect(Set(ids).count == KeyPurpose.allCases.count)
        let queue = ids[1]
        #expect(code { () throws(EncryptionError) in _ = try keys.key(queue, for: .logs) } == .keyGone)
    }

    // MARK: Several processes

    @Test func `Two rings of one directory add keys in turn, and none is lost`() throws {
        let (first, second) = (ring(), ring())
        // Both look before there is a file.
        for ring in [first, second] {
            #expect(code { () throws(EncryptionError) in _ = try ring.key(1, for: .application) } == .keyGone)
        }
        let logs = try first.sealingKey(for: .logs)
        let sealed = try seal("identity", with: second)
        #expect(try open(sealed, with: first) == "identity", "what another has added is found")
        let third = ring()
        #expect(try open(sealed, with: third) == "identity")
        #expect(try third.key(logs.id, for: .logs).id == logs.id)
        #expect(try first.sealingKey(for: .application).id == third.sealingKey(for: .application).id)
    }

    @Test func `Of rings that begin at once one makes the device key, and one key serves all`() throws {
        let rings = (0..<8).map { _ in ring() }
        let sealed = Mutex<[Data]>([])
        DispatchQueue.concurrentPerform(iterations: rings.count) { number in
            let envelope = try? Envelope.seal(
                Data("\(number)".utf8), label: "", with: rings[number].sealingKey(for: .application))
            sealed.withLock { $0 += [envelope].compactMap(\.self) }
        }
        let later = ring()
        #expect(try Set(sealed.withLock { $0 }.map { try open($0, with: later) }) == Set((0..<8).map { "\($0)" }))
        #expect(later.status.keys.count == 1)
    }

    // MARK: The device key

    @Test func `A missing device key is tried again later, and is never replaced`() throws {
        let sealed = try seal("secret", with: ring())
        let copy = try Data(contentsOf: URL(filePath: deviceKey.path))
        let keys = try Data(contentsOf: URL(filePath: keysPath))
        try FileManager.default.removeItem(atPath: deviceKey.path)
        let later = ring()
        #expect(codeOfOpening(sealed, with: later) == .keyMissing)
        #expect(code { () throws(EncryptionError) in _ = try later.sealingKey(for: .application) } == .keyMissing)
        #expect(!Paths.exists(deviceKey.path))
        #expect(try Data(contentsOf: URL(filePath: keysPath)) == keys)
        // The remedy that the message names.
        try copy.write(to: URL(filePath: deviceKey.path))
        #expect(chmod(deviceKey.path, 0o600) == 0)
        #expect(try open(sealed, with: later) == "secret")
    }

    @Test func `Another device key is said as such, and is temporary`() throws {
        let sealed = try seal("secret", with: ring())
        _ = try deviceKey.make()
        #expect(codeOfOpening(sealed, with: ring()) == .wrongKey)
        #expect(ring().status.obstacle?.isTemporary == true)
    }

    @Test func `A key file with a loose mode, a second name or behind a link is refused`() throws {
        _ = try deviceKey.make()
        for mode: mode_t in [0o640, 0o604, 0o620] {
            #expect(chmod(deviceKey.path, mode) == 0)
            #expect(code { () throws(EncryptionError) in _ = try deviceKey.load() } == .exposed)
        }
        #expect(chmod(deviceKey.path, 0o600) == 0)
        let second = directory.file("second")
        #expect(link(deviceKey.path, second) == 0)
        #expect(code { () throws(EncryptionError) in _ = try deviceKey.load() } == .exposed)
        #expect(unlink(second) == 0 && symlink(deviceKey.path, second) == 0)
        let linked = KeyFileProvider(path: second)
        #expect(code { () throws(EncryptionError) in _ = try linked.load() } == .exposed)
        #expect(try deviceKey.load() != nil)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
    func `Root may use the key of the directory's owner, and of nobody else`() throws {
        let key = try deviceKey.make()
        #expect(chown(deviceKey.path, 65_534, 65_534) == 0)
        #expect(code { () throws(EncryptionError) in _ = try deviceKey.load() } == .exposed)
        #expect(chown(directory.path, 65_534, 65_534) == 0)
        #expect(try deviceKey.load() == key)
        #expect(chown(deviceKey.path, 65_533, 65_533) == 0)
        #expect(code { () throws(EncryptionError) in _ = try deviceKey.load() } == .exposed)
    }

    @Test func `A key file with a flipped bit or a cut is never taken for a key`() throws {
        let line =
            "ws1-device-key 1 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f 199e185c5fcfcc22\n"
        let path = deviceKey.path
        func load(_ bytes: Data) throws -> SymmetricKey? {
            try bytes.write(to: URL(filePath: path))
            #expect(chmod(path, 0o600) == 0)
            return try deviceKey.load()
        }
        #expect(try load(Data(line.utf8)) == SymmetricKey(data: Data(UInt8(0)..<32)))
        for bit in 0..<line.utf8.count * 8 {
            var bytes = Data(line.utf8)
            bytes[bit / 8] ^= 1 << (bit % 8)
            #expect(throws: EncryptionError.self) { try load(bytes) }
        }
        for count in 0..<line.utf8.count {
            #expect(throws: EncryptionError.self) { try load(Data(line.utf8.prefix(count))) }
        }
    }

    @Test func `A systemd credential and a key of the host program have 32 bytes, or say what to do`() throws {
        let credential = SystemdCredentialProvider(name: "ws1-device-key", directory: directory.path)
        let absent = SystemdCredentialProvider(name: "ws1-device-key", directory: nil)
        #expect(code { () throws(EncryptionError) in _ = try absent.load() } == .keyMissing)
        #expect(code { () throws(EncryptionError) in _ = try ring(credential).sealingKey(for: .queue) } == .keyMissing)
        try Data(repeating: 7, count: 33).write(to: URL(filePath: directory.file("ws1-device-key")))
        #expect(code { () throws(EncryptionError) in _ = try credential.load() } == .wrongKey)
        try Data(repeating: 7, count: 32).write(to: URL(filePath: directory.file("ws1-device-key")))
        let sealed = try seal("secret", with: ring(credential))
        #expect(try open(sealed, with: ring(credential)) == "secret")
        // The same bytes, given by the program.
        #expect(try open(sealed, with: ring(HostKeyProvider { Data(repeating: 7, count: 32) })) == "secret")
        #expect(codeOfOpening(sealed, with: ring(HostKeyProvider { Data(repeating: 8, count: 32) })) == .keyMissing)
        #expect(codeOfOpening(sealed, with: ring(HostKeyProvider { nil })) == .keyMissing)
    }

    // MARK: Rotation

    @Test func `After 90 days a new key seals, and the old one opens until nothing names it`() throws {
        let keys = ring()
        let sealed = try seal("old", with: keys)
        let old = try keys.sealingKey(for: .application).id
        clock.advance(KeyRing.ageLimit - 1)
        #expect(try keys.sealingKey(for: .application).id == old)
        clock.advance(1)
        let new = try keys.sealingKey(for: .application).id
        #expect(new != old)
        #expect(try open(sealed, with: ring()) == "old")
        #expect(try keys.removeUnused(of: .application, named: [old]) == [])
        #expect(try keys.removeUnused(of: .application, named: []) == [old])
        #expect(codeOfOpening(sealed, with: ring()) == .keyGone)
        #expect(try ring().sealingKey(for: .application).id == new)
    }

    @Test func `Seals are counted on disk before they are made, and a key ends with its last`() throws {
        let file = KeysFile(directory: directory.path)
        let key = try ring().sealingKey(for: .queue)
        #expect(try file.read()?.keys.first?.seals == KeyRing.reservation)
        // A start after a crash takes the reserved ones for made.
        _ = try ring().sealingKey(for: .queue)
        #expect(try file.read()?.keys.first?.seals == 2 * KeyRing.reservation)
        var content = try #require(try file.read())
        content.keys[0].seals = KeyRing.sealLimit
        try file.write(content)
        #expect(try ring().sealingKey(for: .queue).id != key.id)
    }

    // MARK: The file

    @Test func `Every flipped bit of the file leaves all keys usable`() throws {
        let sealed = try seal("secret", with: ring())
        let whole = try Data(contentsOf: URL(filePath: keysPath))
        for bit in 0..<whole.count * 8 {
            var bytes = whole
            bytes[bit / 8] ^= 1 << (bit % 8)
            try bytes.write(to: URL(filePath: keysPath))
            #expect(try open(sealed, with: ring()) == "secret", "bit \(bit)")
        }
    }

    @Test func `A file that is cut anywhere, or damaged in both halves, is an error and stays`() throws {
        let sealed = try seal("secret", with: ring())
        let whole = try Data(contentsOf: URL(filePath: keysPath))
        // Without the last line end the first half is still whole.
        for count in 0..<whole.count - 2 {
            try Data(whole.prefix(count)).write(to: URL(filePath: keysPath))
            #expect(codeOfOpening(sealed, with: ring()) == .damaged, "\(count) bytes")
        }
        var both = whole
        both[20] ^= 1
        both[whole.count / 2 + 20] ^= 1
        try both.write(to: URL(filePath: keysPath))
        #expect(code { () throws(EncryptionError) in _ = try ring().sealingKey(for: .application) } == .damaged)
        #expect(try Data(contentsOf: URL(filePath: keysPath)) == both)
    }

    @Test func `A newer file is refused by its version and stays`() throws {
        _ = try ring().sealingKey(for: .application)
        let text = String(decoding: try Data(contentsOf: URL(filePath: keysPath)), as: UTF8.self)
        let newer = Data(text.replacingOccurrences(of: "\"version\":1}", with: "\"version\":2}").utf8)
        try newer.write(to: URL(filePath: keysPath))
        #expect(code { () throws(EncryptionError) in _ = try ring().sealingKey(for: .application) } == .newerVersion)
        #expect(try Data(contentsOf: URL(filePath: keysPath)) == newer)
    }

    // MARK: Passcode

    @Test func `With a passcode everything is locked until it is entered, and again after a lock`() throws {
        let keys = ring(nil)
        #expect(code { () throws(EncryptionError) in _ = try keys.sealingKey(for: .application) } == .locked)
        try keys.enter(passcode: "1234")
        let sealed = try seal("secret", with: keys)
        let restarted = ring(nil)
        #expect(codeOfOpening(sealed, with: restarted) == .locked)
        #expect(code { () throws(EncryptionError) in try restarted.enter(passcode: "1235") } == .wrongPasscode)
        #expect(code { () throws(EncryptionError) in try restarted.enter(passcode: "") } == .invalid)
        #expect(codeOfOpening(sealed, with: restarted) == .locked)
        try restarted.enter(passcode: "1234")
        #expect(try open(sealed, with: restarted) == "secret")
        restarted.lock()
        #expect(codeOfOpening(sealed, with: restarted) == .locked)
        #expect(!Paths.exists(deviceKey.path), "the key of a passcode is on no disk")

        try restarted.change(passcode: "1234", to: "a longer one")
        #expect(try open(sealed, with: restarted) == "secret")
        #expect(code { () throws(EncryptionError) in try ring(nil).enter(passcode: "1234") } == .wrongPasscode)
    }

    @Test func `The rounds of a passcode take half a second, within bounds`() {
        #expect(PasscodeParameters.rounds(210_000, took: .milliseconds(250)) == 420_000)
        #expect(PasscodeParameters.rounds(210_000, took: .seconds(5)) == PasscodeParameters.leastRounds)
        #expect(PasscodeParameters.rounds(210_000, took: .zero) == PasscodeParameters.greatestRounds)
    }

    // MARK: Moves and kills

    @Test func `Keys move to a passcode and back, and the key file goes and comes with them`() throws {
        let sealed = try seal("secret", with: ring())
        let moved = ring(nil, former: [deviceKey])
        #expect(try open(sealed, with: moved) == "secret", "until a passcode is entered, the key file serves")
        try moved.enter(passcode: "1234")
        #expect(!Paths.exists(deviceKey.path))
        let back = ring()
        #expect(codeOfOpening(sealed, with: back) == .locked)
        try back.enter(passcode: "1234")
        #expect(Paths.exists(deviceKey.path))
        #expect(try open(sealed, with: ring()) == "secret")
    }

    @Test(arguments: KeysFile.Step.allCases)
    func `A kill at any step of a move leaves all keys readable, and the next start ends it`(
        step: KeysFile.Step
    ) throws {
        let sealed = try seal("secret", with: ring())
        let host = HostKeyProvider { Data(repeating: 9, count: 32) }
        let image = directory.file("image")
        let source = directory.path
        // What a kill at this step would leave on the disk.
        let moving = ring(host, former: [deviceKey]) { reached in
            guard reached == step, !Paths.exists(image) else { return }
            try? FileManager.default.createDirectory(atPath: image, withIntermediateDirectories: false)
            for name in ["keys", "device.key"] where Paths.exists("\(source)/\(name)") {
                try? FileManager.default.copyItem(atPath: "\(source)/\(name)", toPath: "\(image)/\(name)")
            }
        }
        #expect(try open(sealed, with: moving) == "secret")
        #expect(!Paths.exists(deviceKey.path))
        let isPartOfMove: Set<KeysFile.Step> = [
            .writing, .replaced, .formerOverwritten, .migrated, .deviceKeyDestroyed,
        ]
        #expect(Paths.exists(image) == isPartOfMove.contains(step))
        guard Paths.exists(image) else { return }
        let resumed = ring(host, former: [KeyFileProvider(path: "\(image)/device.key")], in: image)
        #expect(try open(sealed, with: resumed) == "secret")
        #expect(!Paths.exists("\(image)/device.key"))
        #expect(resumed.status.provider == .host)
    }

    @Test func `Destroyed keys open nothing, also not from a kept image, and new ones have other ids`() throws {
        let keys = ring()
        let sealed = try seal("secret", with: keys)
        let key = try keys.sealingKey(for: .application)
        #expect(try keys.destroy().map(\.fingerprint) == [key.secret.fingerprint])
        #expect(!Paths.exists(keysPath) && !Paths.exists(deviceKey.path))
        #expect(code { () throws(EncryptionError) in _ = try keys.sealingKey(for: .application) } == .destroyed)
        #expect(try keys.destroy().isEmpty, "harmless twice")
        keys.renew()
        _ = try keys.sealingKey(for: .application)
        #expect(codeOfOpening(sealed, with: keys) == .keyGone)
    }

    @Test func `Keys are listed before they are destroyed, without the device key and without a change`() throws {
        #expect(ring().inventory() == nil, "there are none")
        let keys = ring()
        let key = try keys.sealingKey(for: .queue)
        // Another provider has no device key at hand.
        let listed = try #require(ring(nil).inventory())
        #expect(listed.provider == .file && listed.device?.count == 32)
        #expect(listed.keys == [.init(id: key.id, purpose: "queue", fingerprint: key.secret.fingerprint)])
        #expect(try keys.sealingKey(for: .queue).id == key.id)
        #expect(keys.isKeyFileLeft)
        #expect(try keys.destroy() == listed.keys)
        #expect(!keys.isKeyFileLeft && keys.inventory() == nil)
        try Data("rubbish".utf8).write(to: URL(filePath: keysPath))
        #expect(keys.inventory() == KeyRing.Inventory(provider: nil, device: nil, keys: []))
    }

    @Test func `A kill while keys are destroyed leaves nothing that opens, and the next call ends it`() throws {
        let path = directory.path
        let open = Mutex<[Bool]>([])
        let sealed = try seal("secret", with: ring())
        let destroying = ring(deviceKey) { _ in
            let left = try? KeyFileProvider(path: "\(path)/device.key").load()
            open.withLock { $0.append(left != nil) }
        }
        try destroying.destroy()
        let left = open.withLock { $0 }
        #expect(left.count >= 3 && !left.contains(true), "the device key goes before anything else")
        // A kill after the device key and before the rest: the file is there, overwritten.
        try Data(repeating: 0, count: 500).write(to: URL(filePath: keysPath))
        #expect(codeOfOpening(sealed, with: ring()) == .damaged)
        try ring().destroy()
        #expect(!Paths.exists(keysPath))
    }

    @Test func `Locked keys can be destroyed without the passcode`() throws {
        let keys = ring(nil)
        try keys.enter(passcode: "1234")
        _ = try keys.sealingKey(for: .application)
        #expect(try ring(nil).destroy().count == 1)
        #expect(!Paths.exists(keysPath))
    }
}
