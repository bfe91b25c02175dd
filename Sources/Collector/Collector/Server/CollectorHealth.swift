import CollectorTunables
import Logging
import RecordStore
import Registry
import Synchronization
import WireModel

/// The health of the collector itself, checked every ten seconds and with each request for `/readyz`.
///
/// It is kept in memory and not as a notice, because a full disk refuses the notice. Every page of the console shows
/// it. Safe from any thread.
package final class CollectorHealth: Sendable {
    /// Something is wrong.
    package struct Trouble: Equatable, Sendable {
        package enum Kind: String, Sendable, CaseIterable {
            /// No record can be stored.
            case notStoring = "not-storing"
            /// The disk is getting full.
            case diskLow = "disk-low"
        }

        package var kind: Kind
        /// When it was first seen, in microseconds since 1970.
        package var since: Int64
        /// The detail for the collector's administrators: it names files of this machine.
        package var detail: String

        /// The summary for everybody.
        package var summary: String {
            switch kind {
            case .notStoring: "The collector stores nothing. Devices keep their records and send them later."
            case .diskLow: "The collector's disk is nearly full. Nothing will be stored once it is full."
            }
        }
    }

    private let store: any RecordStore
    private let metadata: MetadataService
    private let lowBytes: UInt64
    private let logger: Logger
    private let now: @Sendable () -> Int64
    private let found = Mutex<[Trouble]>([])

    /// - Parameter lowBytes: fewer free bytes of the data directory are a trouble; 0 for never.
    init(
        store: any RecordStore, metadata: MetadataService, lowBytes: UInt64, logger: Logger,
        now: @escaping @Sendable () -> Int64
    ) {
        self.store = store
        self.metadata = metadata
        self.lowBytes = lowBytes
        self.logger = logger
        self.now = now
    }

    /// The troubles as of the last check, the gravest first.
    package var troubles: [Trouble] { found.withLock { $0 } }

    /// Looks every ten seconds until the task is cancelled.
    package func run(on clock: some Clock<Duration>) async {
        while !Task.isCancelled {
            await look()
            try? await clock.sleep(for: Tunables.Housekeeping.healthInterval)
        }
    }

    /// - Returns: what is wrong now.
    @discardableResult
    func look() async -> [Trouble] {
        let (reason, low) = (await reasonAgainstStoring(), lowDisk())
        let details: [(Trouble.Kind, String?)] = [(.notStoring, reason), (.diskLow, reason == nil ? low : nil)]
        let now = now()
        let (former, present) = found.withLock { found in
            let former = found
            found = details.compactMap { kind, detail in
                detail.map { Trouble(kind: kind, since: former.since(of: kind) ?? now, detail: $0) }
            }
            return (former, found)
        }
        switch (former.since(of: .notStoring), reason) {
        case (nil, let reason?): logger.error("not ready", metadata: ["reason": "\(reason)"])
        case (_?, nil): logger.notice("ready again")
        default: break
        }
        return present
    }

    private func reasonAgainstStoring() async -> String? {
        for readiness in [await metadata.readiness(), await store.readiness()] {
            if case .notReady(let reason) = readiness { return reason }
        }
        return nil
    }

    private func lowDisk() -> String? {
        guard let free = metadata.freeBytes else { return nil }
        let former: DiskState = troubles.since(of: .diskLow) == nil ? .enough : .low
        guard DiskState.next(after: former, freeBytes: free, lowBytes: lowBytes) == .low else { return nil }
        return "\(free) bytes are free for \(metadata.directoryPath), less than \(lowBytes)."
    }
}

extension [CollectorHealth.Trouble] {
    fileprivate func since(of kind: CollectorHealth.Trouble.Kind) -> Int64? { first { $0.kind == kind }?.since }
}
