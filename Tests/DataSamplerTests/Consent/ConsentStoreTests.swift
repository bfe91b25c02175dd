import DeviceTestKit
import Foundation
import Logging
import RecordQueue
import TestKit
import Testing

@testable import DataSampler

/// The file of the decision and its copy in the queue: a person's word is not lost with either.
@Suite struct ConsentStoreTests {
    private func file(_ directory: String) -> URL { URL(filePath: "\(directory)/\(ConsentStore.name)") }

    /// - Parameter bytes: `nil`: the file is gone.
    private func put(_ bytes: Data?, _ directory: String) throws {
        if let bytes { return try bytes.write(to: file(directory)) }
        try? FileManager.default.removeItem(at: file(directory))
    }

    /// As somebody does who restores a backup of the file.
    private func write(_ consent: DataSamplerConsent, decided: Int64, _ directory: String) throws {
        try StateFile<ConsentStore.Content>(directory: directory, name: ConsentStore.name).save(
            ConsentStore.Content(consent: consent, decided: decided))
    }

    @Test(arguments: ["deleted", "empty", "cut", "flipped"])
    func `A denial whose file is damaged or gone holds still, and that is reported once`(_ damage: String) throws {
        let directory = try TemporaryDirectory()
        let store = ConsentStore(directory: directory.path, queue: ScriptedConsentQueue())
        try store.save(.denied, wallTime: 1)
        let whole = try Data(contentsOf: file(directory.path))
        var damaged: Data? = whole
        switch damage {
        case "deleted": damaged = nil
        case "empty": damaged = Data()
        case "cut": damaged = whole.prefix(whole.count / 2)
        default: damaged?[whole.count / 2] ^= 4
        }
        try put(damaged, directory.path)

        var reported: [DataSamplerNotice.Kind] = []
        for _ in 1...2 {
            let held = try store.load(initial: .granted) { reported.append($0.kind) }
            #expect(held == .denied)
        }
        #expect(reported == (damage == "deleted" ? [.consentRestored] : [.fileSetAside, .consentRestored]))
        #expect(try Data(contentsOf: file(directory.path)) == whole)
        let aside = try? Data(contentsOf: URL(filePath: "\(directory.path)/consent.json.damaged"))
        #expect(aside == (damage == "deleted" ? nil : damaged), "a damaged file stays to be looked at")
    }

    /// Else a kill before the file is made anew would leave nothing that shows a decision.
    @Test func `A damaged file stays where it is while its copy cannot be kept`() throws {
        let directory = try TemporaryDirectory()
        let queue = ScriptedConsentQueue()
        let store = ConsentStore(directory: directory.path, queue: queue)
        let damaged = Data("{ \"consent\": \"den".utf8)
        try put(damaged, directory.path)
        queue.change { $0.copyFailures = 1 }
        #expect(throws: DataSamplerError.self) { try store.load(initial: .granted) }
        #expect(try Data(contentsOf: file(directory.path)) == damaged)
        #expect(try store.load(initial: .granted) != .granted)
    }

    /// The last one was decided while the wall clock was ahead.
    private static let formerDecisions: [(DataSamplerConsent?, Int64)] = [
        (nil, 0), (.pending, 5), (.granted, 5), (.granted, 500),
    ]

    @Test(arguments: [false, true])
    func `A kill between the two writes of a denial does not lose it, whatever becomes of the file`(_ isGone: Bool)
        throws
    {
        for (former, wallTime) in Self.formerDecisions {
            let directory = try TemporaryDirectory()
            let store = ConsentStore(directory: directory.path, queue: ScriptedConsentQueue())
            if let former { try store.save(former, wallTime: wallTime) }
            let before = try? Data(contentsOf: file(directory.path))
            try store.save(.denied, wallTime: 10)
            let after = try Data(contentsOf: file(directory.path))
            // The copy was written, the file was not.
            try put(isGone ? nil : before, directory.path)
            #expect(try store.load(initial: .granted) == .denied, "after \(former?.rawValue ?? "nothing")")
            #expect(try Data(contentsOf: file(directory.path)) == after)
        }
    }

    @Test func `A kill between the two writes of another decision leaves a denial or that decision`() throws {
        for consent in [DataSamplerConsent.granted, .pending] {
            for isGone in [false, true] {
                let directory = try TemporaryDirectory()
                let queue = ScriptedConsentQueue()
                let store = ConsentStore(directory: directory.path, queue: queue)
                try store.save(.denied, wallTime: 500)
                let copy = queue.now.copy
                try store.save(consent, wallTime: 10)
                // The file was written, the copy was not.
                queue.change { $0.copy = copy }
                if isGone { try put(nil, directory.path) }
                let expected = isGone ? DataSamplerConsent.denied : consent
                #expect(try store.load(initial: .granted) == expected)
                try put(nil, directory.path)
                #expect(try store.load(initial: .granted) == expected, "the copy says the same from then on")
            }
        }
    }

    @Test func `A stricter decision is copied before its file is written, and a looser one after it`() throws {
        for consent in DataSamplerConsent.allCases {
            let directory = try TemporaryDirectory()
            let queue = ScriptedConsentQueue()
            // No file can be written there.
            let store = ConsentStore(directory: "/proc/nowhere", queue: queue)
            if consent == .granted {
                let error = #expect(throws: DataSamplerError.self) { try store.save(consent, wallTime: 1) }
                #expect(error?.code == .storage)
            } else {
                try store.save(consent, wallTime: 1)
                var reported: [DataSamplerNotice.Kind] = []
                #expect(try store.load(initial: .granted, report: { reported.append($0.kind) }) == consent)
                #expect(reported == [.consentNotCopied], "the copy holds the decision, and the file is still behind")
            }
            #expect((queue.now.copy != nil) == (consent != .granted))
            let next = ConsentStore(directory: directory.path, queue: queue)
            #expect(try next.load(initial: .pending) == (consent == .denied ? .denied : .pending))
        }
    }

    @Test(arguments: [false, true])
    func `A kill between the two writes of a decision to wait does not let go what was held`(_ isGone: Bool) throws {
        let directory = try TemporaryDirectory()
        let store = ConsentStore(directory: directory.path, queue: ScriptedConsentQueue())
        try store.save(.granted, wallTime: 500)
        let before = try Data(contentsOf: file(directory.path))
        try store.save(.pending, wallTime: 10)
        // The copy was written, the file was not.
        try put(isGone ? nil : before, directory.path)
        #expect(try store.load(initial: .granted) == .pending)
    }

    @Test func `Without the queue's owner the stricter of file and copy is found, too`() throws {
        let directory = try TemporaryDirectory()
        let queue = ScriptedConsentQueue()
        try ConsentStore(directory: directory.path, queue: queue).save(.denied, wallTime: 1)
        let store = ConsentStore(directory: directory.path)
        #expect(try store.decided(copy: nil) == .denied)
        try put(nil, directory.path)
        #expect(try store.decided(copy: nil) == nil)
        #expect(try store.decided(copy: queue.now.copy) == .denied)
        try put(Data("{}".utf8), directory.path)
        #expect(try store.decided(copy: queue.now.copy) == .denied)
        #expect(throws: DataSamplerError.self) { try store.decided(copy: nil) }
    }

    @Test func `A decision that cannot be copied leaves the file as it was`() throws {
        for former in [nil, DataSamplerConsent.granted, .denied] {
            for consent in DataSamplerConsent.allCases {
                let directory = try TemporaryDirectory()
                let queue = ScriptedConsentQueue()
                let store = ConsentStore(directory: directory.path, queue: queue)
                if let former { try store.save(former, wallTime: 1) }
                let before = try? Data(contentsOf: file(directory.path))
                queue.change { $0.copyFailures = 1 }
                let error = #expect(throws: DataSamplerError.self) { try store.save(consent, wallTime: 2) }
                #expect(error?.code == .storage && error?.message.contains("copy") == true)
                let after = try? Data(contentsOf: file(directory.path))
                #expect(after == before)
                #expect(try store.load(initial: .pending) == former ?? .pending)
            }
        }
    }

    @Test
    func `The decision of a program that kept no copy is copied with the next start, or reported where it cannot be`()
        throws
    {
        let directory = try TemporaryDirectory()
        let queue = ScriptedConsentQueue()
        let store = ConsentStore(directory: directory.path, queue: queue)
        try write(.denied, decided: 1, directory.path)
        var reported: [DataSamplerNotice.Kind] = []
        queue.change { $0.copyFailures = 1 }
        for _ in 1...2 {
            let held = try store.load(initial: .granted) { reported.append($0.kind) }
            #expect(held == .denied)
        }
        #expect(reported == [.consentNotCopied])
        try put(nil, directory.path)
        #expect(try store.load(initial: .granted) == .denied)
    }

    /// The copy, the file that was written without it, what holds.
    private static let disagreements: [(DataSamplerConsent, Int64, DataSamplerConsent, Int64, DataSamplerConsent)] = [
        (.denied, 5, .granted, 6, .granted), (.denied, 5, .granted, 4, .denied), (.granted, 5, .denied, 6, .denied),
        (.granted, 5, .denied, 4, .denied), (.granted, 5, .pending, 4, .granted), (.pending, 5, .granted, 4, .pending),
    ]

    @Test func `Where file and copy disagree the later one counts, or the file's denial`() throws {
        for (copied, copyTime, written, fileTime, expected) in Self.disagreements {
            let directory = try TemporaryDirectory()
            let store = ConsentStore(directory: directory.path, queue: ScriptedConsentQueue())
            try store.save(copied, wallTime: copyTime)
            try write(written, decided: fileTime, directory.path)
            for isGone in [false, true] {
                if isGone { try put(nil, directory.path) }
                let held = try store.load(initial: .granted)
                #expect(held == expected, "copy \(copied) at \(copyTime), file \(written) at \(fileTime)")
            }
        }
    }

    @Test func `A damaged copy says that something was decided, and no more`() throws {
        let directory = try TemporaryDirectory()
        let queue = ScriptedConsentQueue()
        let store = ConsentStore(directory: directory.path, queue: queue)
        try store.save(.granted, wallTime: 1)
        for isGone in [false, true] {
            queue.change { $0.copy = Data("{}".utf8) }
            if isGone { try put(nil, directory.path) }
            #expect(try store.load(initial: .granted) == (isGone ? .pending : .granted))
        }
    }

    @Test func `Over a real queue a denial outlives its file, the end of an epoch and a restart`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        func open() throws -> RecordQueue {
            try RecordQueue.open(directory: path, configuration: .init(), clock: ManualRecordClock(), logger: logger)
        }
        var queue = try open()
        try ConsentStore(directory: path, queue: QueueForConsent(queue: queue)).save(.denied, wallTime: 1)
        for end in [EpochEnd.wiped, .reboundSend] { try await queue.endEpoch(end) }
        await queue.close()
        try put(nil, path)
        queue = try open()
        let store = ConsentStore(directory: path, queue: QueueForConsent(queue: queue))
        #expect(try store.load(initial: .granted) == .denied)
        await queue.close()
    }
}
