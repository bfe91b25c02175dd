import Glibc

/// Why a file cannot be used, in one line that is no library's: what the file system says, else what is the matter with
/// the content.
package struct FileFault {
    private let systemWords: String?

    package init(_ path: String) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        let systemError = errno
        guard descriptor >= 0 else {
            systemWords = AccessDenial.text(path, systemError) ?? String(cString: strerror(systemError))
            return
        }
        defer { close(descriptor) }
        var status = stat()
        systemWords = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR ? "it is a directory" : nil
    }

    package func words(otherwise content: String) -> String { systemWords ?? content }
}
