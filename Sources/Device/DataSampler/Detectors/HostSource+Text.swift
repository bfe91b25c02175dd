import SampleModules

extension HostSource {
    /// A small file as text; a beginning counts too.
    func text(_ path: String, maximumBytes: Int) -> HostText {
        var buffer = FileBuffer(capacity: 4_096)
        switch read(path, into: &buffer, maximumBytes: maximumBytes, keepOpen: false) {
        case .complete, .truncated: return .text(buffer.withBytes { String(decoding: $0, as: UTF8.self) })
        case .absent: return .absent
        case .denied, .failed: return .unreadable
        }
    }
}

/// How reading a small file went.
enum HostText: Equatable {
    case text(String)
    /// No such file or kernel feature.
    case absent
    /// It is there and could not be read.
    case unreadable
}
