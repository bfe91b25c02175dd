import Logging
import RecordStore
import Registry

/// Raises a notice for every record file that is missing or cannot be opened, and ends it when the file is back.
package actor RecordFileWatch {
    private let store: any RecordStore
    private let notices: NoticeService
    private let logger: Logger
    private var reported: [String: String]?

    package init(store: any RecordStore, notices: NoticeService, logger: Logger) {
        self.store = store
        self.notices = notices
        self.logger = logger
    }

    /// Opens every record file once.
    package func look() async {
        let present: [String: String]
        do throws(StoreError) {
            present = Dictionary(
                uniqueKeysWithValues: try await store.harmedPartitions().map { partition, harm in
                    (
                        partition.name,
                        """
                        \(partition.name) \(harm.message). Its records are not shown, and marks that only this file \
                        has are unknown. Documentation/runbook.md, "A damaged record file", says what to do.
                        """
                    )
                })
        } catch {
            logger.warning("the record files could not be checked", metadata: ["store.error": "\(error)"])
            return
        }
        guard present != reported else { return }
        for detail in present.values.sorted() {
            logger.error("record file missing or damaged", metadata: ["store.error": "\(detail)"])
        }
        if await notices.follow(.recordFile, present, reported: reported) { reported = present }
    }
}
