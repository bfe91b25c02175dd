/// How room is made for an insert: pure, from the file's figures.
struct RoomPlan: Equatable {
    /// Pages that can be used without growing: never used ones up to the allocation and free ones.
    var availablePages: Int
    var allocatedPages: Int
    var growthPages: Int
    var maximumPages: Int

    enum Step: Equatable {
        case fits
        /// Allocate up to so many pages, if the disk allows.
        case grow(toPages: Int)
        /// The cap is reached: so many pages have to come free.
        case evict(pages: Int)
    }

    /// - Parameter needed: pages of the insert, without the reserve.
    func step(needed: Int) -> Step {
        let missing = needed + QueueFile.reservePages - availablePages
        guard missing > 0 else { return .fits }
        let chunks = (missing + growthPages - 1) / growthPages
        let target = min(maximumPages, allocatedPages + chunks * growthPages)
        return target - allocatedPages >= missing ? .grow(toPages: target) : .evict(pages: missing - max(0, target - allocatedPages))
    }

    /// An upper estimate of what records take: row overhead, unfilled ends of pages, and inner pages.
    static func pages(records: Int, bytes: Int) -> Int {
        let content = bytes + records * 64
        return content / QueueFile.pageBytes + content / QueueFile.pageBytes / 6 + 8
    }
}
