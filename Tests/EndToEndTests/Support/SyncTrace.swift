/// Reads what `strace -f -yy` saw of a collector and says for every answered batch whether what was written before was
/// on disk by then.
struct SyncTrace {
    /// One 200 to a batch.
    struct Answer: Equatable {
        /// The line of the trace at which sending began.
        let line: Int
        /// Whether a write-ahead log was written between request and answer.
        var wrote = false
        /// Whether a sync of a write-ahead log began and ended between request and answer.
        var synced = false
        /// Files whose last write before the answer had not been synced when it was sent.
        var unsynced: [String] = []
    }

    private(set) var answers: [Answer] = []

    /// - Parameters:
    ///   - trace: lines as `strace -f -yy -o` writes them, each starting with the thread's number.
    ///   - isLog: whether a path is one of the files that must be synced before an answer.
    init(_ trace: String, isLog: (Substring) -> Bool) {
        struct File {
            var lastWrite = 0
            var lastSyncBegan = 0
            var lastSyncEnded = 0
        }
        var files: [Substring: File] = [:]
        var batchRequests: [Substring: Int] = [:]
        var unfinishedSyncs: [Substring: (path: Substring, began: Int)] = [:]

        for (index, line) in trace.split(separator: "\n").enumerated() {
            let number = index + 1
            guard let space = line.firstIndex(of: " ") else { continue }
            let thread = line[..<space]
            let call = line[space...].drop { $0 == " " }
            let name = call.hasPrefix("<... ") ? call.dropFirst(5).prefix { $0 != " " } : call.prefix { $0 != "(" }
            // What the descriptor stands for: 5</path/to/file> or 9<TCP:[127.0.0.1:1->127.0.0.1:2]>
            let target = call.drop { $0 != "<" }.dropFirst()
            let isSocket = target.hasPrefix("TCP:[")
            let path = isSocket ? target.prefix { $0 != "]" } : target.prefix { $0 != ">" }

            switch name {
            case "fsync", "fdatasync":
                if call.hasPrefix("<... ") {
                    guard let sync = unfinishedSyncs.removeValue(forKey: thread), line.hasSuffix("= 0") else {
                        continue
                    }
                    files[sync.path, default: File()].lastSyncBegan = sync.began
                    files[sync.path, default: File()].lastSyncEnded = number
                } else if !isLog(path) {
                    continue
                } else if line.hasSuffix("<unfinished ...>") {
                    unfinishedSyncs[thread] = (path, number)
                } else if line.hasSuffix("= 0") {
                    files[path, default: File()].lastSyncBegan = number
                    files[path, default: File()].lastSyncEnded = number
                }
            case "write", "pwrite64", "pwritev", "pwritev2", "writev", "sendto", "sendmsg":
                if call.hasPrefix("<... ") { continue }
                if isSocket {
                    guard line.contains("HTTP/1.1 200"), let request = batchRequests.removeValue(forKey: path) else {
                        continue
                    }
                    var answer = Answer(line: number)
                    for (path, file) in files {
                        if file.lastWrite > request { answer.wrote = true }
                        if file.lastSyncBegan > request { answer.synced = true }
                        if file.lastWrite > 0, file.lastSyncBegan < file.lastWrite {
                            answer.unsynced.append(String(path))
                        }
                    }
                    answers.append(answer)
                } else if isLog(path) {
                    files[path, default: File()].lastWrite = number
                }
            case "read", "readv", "recvfrom", "recvmsg":
                // A read that had to wait shows its data when it resumes, without the descriptor; sockets are read when
                // ready, so none does.
                if isSocket, line.contains("POST /api/v1/batches") { batchRequests[path] = number }
            default:
                continue
            }
        }
    }
}
