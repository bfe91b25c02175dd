import WireModel

/// Sizes of the machine's local file systems. The mount table is read for each sample, so that an unmounted file system is
/// never answered for by the directory beneath it, but parsed only when it changed.
struct FileSystemReader: Sendable {
    private var table: [UInt8] = []
    private var selected: [MountInfo.Mount] = []

    mutating func read(_ reader: inout FileReader, maximumBytes: Int) -> [WireFileSystem] {
        let known = table
        let change = reader.parse(MountInfo.path, maximumBytes: maximumBytes, keepOpen: true) { bytes -> Change? in
            if bytes.elementsEqual(known) { return .same }
            let info = MountInfo(bytes)
            return info.mounts.isEmpty ? nil : .new(info, [UInt8](bytes))
        }
        switch change {
        case nil:
            (table, selected) = ([], [])
        case .same:
            break
        case .new(let info, let bytes):
            table = bytes
            selected = info.selected()
        }
        return selected.compactMap { mount in
            guard let figures = reader.host.fileSystemFigures(at: mount.mountPoint) else { return nil }
            return WireFileSystem(mount, figures)
        }
    }

    private enum Change {
        case same
        case new(MountInfo, [UInt8])
    }
}

extension WireFileSystem {
    /// `nil` for figures that cannot be: no size, or more free than there is.
    fileprivate init?(_ mount: MountInfo.Mount, _ figures: FileSystemFigures) {
        guard figures.blocks > 0, figures.blocksFree <= figures.blocks, figures.blocksAvailable <= figures.blocks,
            figures.blockSize > 0, !figures.blocks.multipliedReportingOverflow(by: figures.blockSize).overflow
        else { return nil }
        self.init()
        mountPoint = mount.mountPoint
        type = mount.type
        device = mount.source
        size = figures.blocks * figures.blockSize
        used = (figures.blocks - figures.blocksFree) * figures.blockSize
        available = figures.blocksAvailable * figures.blockSize
        inodes = figures.inodes
        inodesFree = min(figures.inodesFree, figures.inodes)
        readOnly = mount.readOnly
    }
}
