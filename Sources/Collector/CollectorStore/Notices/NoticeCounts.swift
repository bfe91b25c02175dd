/// How many notices there are, for a page of metrics.
package struct NoticeCounts: Equatable, Sendable {
    package struct Count: Equatable, Sendable {
        /// Listed.
        package var notices = 0
        /// Of those, what lasts: what has an end and has not come to it.
        package var lasting = 0
        /// How often they were raised, together.
        package var raised = 0

        package init(notices: Int = 0, lasting: Int = 0, raised: Int = 0) {
            self.notices = notices
            self.lasting = lasting
            self.raised = raised
        }
    }

    /// Every code is there, also those of which there is none.
    package private(set) var counts: [NoticeRow.Code: Count]

    package init(_ counts: [NoticeRow.Code: Count] = [:]) {
        self.counts = Dictionary(uniqueKeysWithValues: NoticeRow.Code.allCases.map { ($0, counts[$0] ?? Count()) })
    }

    package subscript(code: NoticeRow.Code) -> Count { counts[code] ?? Count() }
}
