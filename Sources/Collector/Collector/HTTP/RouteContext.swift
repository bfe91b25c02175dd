import LogArchive
import Logging
import RecordStore
import Registry

/// What the routes have in common.
struct RouteContext: Sendable {
    let store: any RecordStore
    let metadata: MetadataService
    let archive: LogArchive
    let notices: NoticeService
    let reader: BodyReader
    /// Questions about the fleet's records that are worked on at a time.
    let scans: RequestShares
    /// Pages and counts of log lines that are made at a time.
    let pages: RequestShares
    let logger: Logger
}

/// The routes of one subject.
protocol RouteGroup: Sendable {
    var shared: RouteContext { get }
    func add(to router: CollectorRouter)
}

extension RouteGroup {
    var store: any RecordStore { shared.store }
    var metadata: MetadataService { shared.metadata }
    var archive: LogArchive { shared.archive }
    var notices: NoticeService { shared.notices }
    var reader: BodyReader { shared.reader }
    var scans: RequestShares { shared.scans }
    var pages: RequestShares { shared.pages }
    var logger: Logger { shared.logger }
}
