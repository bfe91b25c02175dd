import Glibc

/// `<data>/control.sock`, also where its path is longer than a socket address holds: a long one goes through an open descriptor of the
/// directory, which is the same file by a shorter name.
package struct ControlSocketPath: ~Copyable {
    package static let name = "control.sock"
    /// `sun_path` with its terminating zero.
    package static let maximumBytes = 108

    /// Fits into a socket address, for as long as this value lives.
    package let path: String
    private let descriptor: Int32?

    package init(directory: String) throws(ControlError) {
        let whole = "\(directory)/\(Self.name)"
        guard whole.utf8.count >= Self.maximumBytes else {
            path = whole
            descriptor = nil
            return
        }
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw ControlError(.failed, "the data directory \(directory) cannot be opened: \(String(cString: strerror(errno)))")
        }
        self.descriptor = descriptor
        path = "/proc/self/fd/\(descriptor)/\(Self.name)"
    }

    deinit {
        if let descriptor { close(descriptor) }
    }
}
