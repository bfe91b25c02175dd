import RecordStore
import Registry
import WireModel

/// Erases devices from one record file.
///
/// ```
/// baseline   one transaction: the chains' states and counts, as when retention removes a file, and how many slices
///            the file keeps
/// file       one transaction: the chains with all that the file has of them; where it was is overwritten
/// WAL        moved into the file and emptied, because it has the records too
/// ```
///
/// Files are erased oldest first, so that the baseline's marks grow. After a crash between the first two steps the file
/// has chains that the baseline knows already. The next call ends it, and counts nothing twice. Until then the rows of
/// such a chain are not what they should be, so verification says nothing about chains of devices that are deleted and
/// not erased yet.
struct RecordErasure {
    let baseline: Baseline

    /// - Parameter compacts: whether the file becomes smaller if much of it is free. For a file that is not written to.
    func erase(
        _ devices: Set<DeviceID>, from file: RecordFile, compacts: Bool = false
    ) throws(StoreError) {
        var chains: [RecordFile.ChainRow] = []
        for device in devices.sorted() { chains += try file.chains(of: device) }
        if !chains.isEmpty {
            try baseline.absorb(chains, erasedFrom: file)
            try StoreError.mapping(file.erase(chains: chains.map(\.id)))
            if compacts { try StoreError.mapping(file.compact()) }
        }
        try file.emptyWAL()
    }
}
