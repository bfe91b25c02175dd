import DataSampler
import Foundation
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import AWSDK

/// `encrypt` and `decrypt`, and when the container is locked.
@Suite(.timeLimit(.minutes(10))) struct ContainerTests {
    private static let secret = Data("the badge of the left door".utf8)

    private static func isLocked(_ controller: AWController) -> Bool {
        func isLocked(_ call: () throws -> Data) -> Bool {
            do { _ = try call() } catch { return error as? InvalidOperation == .ContainerLocked }
            return false
        }
        return isLocked { try controller.encrypt(secret) } && isLocked { try controller.decrypt(secret) }
    }

    /// The text of the error; `nil`: it was decrypted.
    private static func failure(_ data: Data, _ controller: AWController) -> String? {
        do { _ = try controller.decrypt(data) } catch {
            if case .DecryptionFailed(let why)? = error as? AWSDKCryptError { return why }
            return "\(error)"
        }
        return nil
    }

    @Test func `The container is locked until the initial check has passed, and after a stop`() async throws {
        let directory = try TemporaryDirectory()
        let bench = SDKBench(directory.path, checkLimit: .milliseconds(1))
        #expect(Self.isLocked(bench.controller))
        #expect(bench.controller.keyObstacle?.contains("initial check") == true)
        bench.collector.setFaults { _, _ in .requestLost }
        try await bench.start()
        #expect(bench.delegate.reported.last == "check 32")
        #expect(Self.isLocked(bench.controller))
        bench.collector.setFaults { _, _ in nil }
        try await bench.delegate.until { $0.contains("check passed") }
        #expect(try bench.controller.encrypt(Self.secret) != Self.secret)
        #expect(bench.controller.keyObstacle == nil)
        await bench.stop()
        #expect(Self.isLocked(bench.controller))
    }

    @Test func `What was encrypted is decrypted, also after a restart, and is not found on the disk`() async throws {
        let directory = try TemporaryDirectory()
        let bench = SDKBench(directory.path)
        try await bench.start()
        let sealed = try bench.controller.encrypt(Self.secret)
        #expect(sealed.range(of: Self.secret) == nil && sealed.count == Self.secret.count + 38)
        #expect(try bench.controller.encrypt(Self.secret) != sealed, "equal data is not seen to be equal")
        await bench.stop()
        try await bench.start()
        #expect(try bench.controller.decrypt(sealed) == Self.secret)
        for name in try FileManager.default.subpathsOfDirectory(atPath: directory.path) {
            guard let bytes = try? Data(contentsOf: URL(filePath: directory.file(name))) else { continue }
            #expect(bytes.range(of: Self.secret) == nil, "\(name)")
        }
        await bench.stop()
    }

    @Test func `Other or changed data is not decrypted, and the error says why`() async throws {
        let directory = try TemporaryDirectory()
        let bench = SDKBench(directory.path)
        try await bench.start()
        var sealed = try bench.controller.encrypt(Self.secret)
        #expect(Self.failure(Self.secret, bench.controller)?.contains("were not made by encrypt") == true)
        sealed[sealed.count - 1] ^= 1
        #expect(Self.failure(sealed, bench.controller)?.contains("not what was sealed") == true)
        await bench.stop()
    }

    @Test func `The key is lost when the container is destroyed, and new data is encrypted with another`() async throws
    {
        let directory = try TemporaryDirectory()
        let bench = SDKBench(directory.path)
        try await bench.start()
        let sealed = try bench.controller.encrypt(Self.secret)
        let former = try Data(contentsOf: URL(filePath: directory.file("device.key")))
        let cleaner = WS1SDKContainerCleaner(engine: bench.engine)
        #expect(await SDKBench.failure { cleaner.destroyContainerData(completion: $0) } == nil)
        #expect(Self.failure(sealed, bench.controller)?.contains("destroyed") == true)
        let again = try bench.controller.encrypt(Self.secret)
        #expect(try bench.controller.decrypt(again) == Self.secret)
        #expect(try Data(contentsOf: URL(filePath: directory.file("device.key"))) != former)
        await bench.stop()
    }

    @Test func `With a passcode the container is locked until it is entered`() async throws {
        let directory = try TemporaryDirectory()
        let bench = SDKBench(directory.path)
        bench.engine.configuration?.deviceKey = .passcode
        try await bench.start()
        #expect(Self.isLocked(bench.controller))
        #expect(bench.controller.keyObstacle?.contains("passcode") == true)
        #expect(await SDKBench.failure { bench.controller.enterPasscode("1234", completion: $0) } == nil)
        let sealed = try bench.controller.encrypt(Self.secret)
        await bench.stop()
        try await bench.start()
        #expect(Self.isLocked(bench.controller))
        #expect(
            await SDKBench.failure { bench.controller.enterPasscode("1235", completion: $0) }
                == .missingRequiredInformation)
        #expect(Self.isLocked(bench.controller))
        #expect(await SDKBench.failure { bench.controller.enterPasscode("1234", completion: $0) } == nil)
        #expect(try bench.controller.decrypt(sealed) == Self.secret)
        #expect(!FileManager.default.fileExists(atPath: directory.file("device.key")))
        await bench.stop()
    }
}
