import Logging

/// Raises a notice for every record file that is missing or cannot be opened, and ends it when it is there and can.
package actor RecordFileWatch {
    private let verifier: StoreVerifier
    private let notices: NoticeService
    private let logger: Logger
    private let note: @Sendable (Partition, String) -> Void
    private var told: [String: String]?
    private nonisolated let executor = BlockingExecutor(label: "ws1.collector.record-files")

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Parameter note: told of each file that is there and cannot be read.
    package init(
        directory: String, notices: NoticeService, logger: Logger,
        note: @escaping @Sendable (Partition, String) -> Void = { _, _ in }
    ) {
        self.note = note
        verifier = StoreVerifier(directory: directory)
        self.notices = notices
        self.logger = logger
    }

    /// Opens every record file once.
    package func look() async {
        let present: [String: String]
        do throws(StoreError) {
            let harmed = try verifier.harmedFiles()
            for (partition, harm) in harmed where !harm.isMissing { note(partition, harm.message) }
            present = Dictionary(
                uniqueKeysWithValues: harmed.map { partition, harm in
                    (
                        partition.name,
                        "\(partition.name) \(harm.message). Its records are not shown, and what devices of its day alone were told is stored is not "
                            + "known. Documentation/runbook.md, \"A damaged record file\", says what to do."
                    )
                })
        } catch {
            logger.warning("the record files could not be looked at", metadata: ["store.error": "\(error)"])
            return
        }
        guard present != told else { return }
        let former = told
        told = present
        for detail in present.values.sorted() {
            logger.error("a record file is harmed", metadata: ["store.error": "\(detail)"])
        }
        await notices.follow(.recordFile, present, told: former)
    }
}
