import SQLite
import WireModel

/// Finds the slices of one file that may hold what a query asks for, newest first, without reading their records.
///
/// A device, or a few, are followed along their chains' indexes: what others store costs nothing. Many are found by going over the file.
struct SliceWalk {
    private let file: RecordFile
    private let query: RecordQuery
    /// `nil`: over the whole file.
    private let chains: [RecordFile.ChainRow]?

    /// Up to so many devices are followed each by itself.
    private static let followedDevices = 16

    init(_ file: RecordFile, _ query: RecordQuery) throws(StoreError) {
        self.file = file
        self.query = query
        switch query.devices {
        case .one(let device): chains = try Self.chains(of: [device], in: file, query)
        case .among(let devices) where devices.count <= Self.followedDevices:
            chains = try Self.chains(of: devices, in: file, query)
        case .among: chains = nil
        }
    }

    private static func chains(
        of devices: some Sequence<DeviceID>, in file: RecordFile, _ query: RecordQuery
    ) throws(StoreError) -> [RecordFile.ChainRow] {
        var found: [RecordFile.ChainRow] = []
        for device in devices {
            found += try file.chains(of: device).filter { $0.bounds?.meet(query.times, kindBits: query.kindBits) ?? true }
        }
        return found
    }

    /// The newest slice with an id of at most `id`.
    /// - Parameter work: taken from for every slice that was looked at.
    /// - Returns: the slice with its chain; with no chain where the work was used up before one was found: go on from there.
    func newest(atMost id: Int64, work: inout Int) throws(StoreError) -> (slice: Int64, chain: ChainKey?)? {
        if work <= 0 { return (id, nil) }
        guard let chains else { return try newestOfMany(atMost: id, work: &work) }
        var found: (slice: Int64, chain: ChainKey?)?
        for chain in chains {
            let slice = try file.newestSlice(chain: chain.id, atMost: id, kindBits: query.kindBits, times: query.times)
            if let slice, slice.id > found?.slice ?? 0 { found = (slice.id, chain.key) }
        }
        return found
    }

    private func newestOfMany(atMost id: Int64, work: inout Int) throws(StoreError) -> (slice: Int64, chain: ChainKey?)? {
        var position = id
        while let slice = try file.newestSlice(chain: nil, atMost: position, kindBits: query.kindBits, times: query.times) {
            work -= 1
            if let key = try file.key(ofChain: slice.chain), query.admits(key.device) { return (slice.id, key) }
            position = slice.id - 1
            if work <= 0 { return (position, nil) }
        }
        return nil
    }
}
