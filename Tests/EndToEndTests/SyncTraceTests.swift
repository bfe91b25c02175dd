import Testing

/// The reader of system call traces can distinguish a synced answer from one that is not, or the test that uses it
/// proves nothing.
struct SyncTraceTests {
    private let request =
        #"11 read(9<TCP:[127.0.0.1:1->127.0.0.1:2]>, "POST /api/v1/batches HTTP/1.1\r\n", 2048) = 310"#
    private let write = #"12 pwrite64(5</d/records/x/event.sqlite-wal>, "7\177"..., 4096, 56) = 4096"#
    private let sync = "12 fdatasync(5</d/records/x/event.sqlite-wal>) = 0"
    private let answer =
        #"11 writev(9<TCP:[127.0.0.1:1->127.0.0.1:2]>, [{iov_base="HTTP/1.1 200 OK\r\n", iov_len=99}], 1) = 99"#

    private func answers(_ lines: String...) -> [SyncTrace.Answer] {
        SyncTrace(lines.joined(separator: "\n")) { $0.hasSuffix("-wal") }.answers
    }

    @Test func `An answer after write and sync is good`() {
        #expect(answers(request, write, sync, answer) == [.init(line: 4, wrote: true, synced: true)])
    }

    @Test func `An answer before the sync is caught`() {
        #expect(
            answers(request, write, answer, sync)
                == [.init(line: 3, wrote: true, synced: false, unsynced: ["/d/records/x/event.sqlite-wal"])])
    }

    @Test func `A write after the sync is caught`() {
        #expect(answers(request, sync, write, answer).first?.unsynced == ["/d/records/x/event.sqlite-wal"])
    }

    @Test func `A sync that has begun but not ended does not count`() {
        let begun = "12 fdatasync(5</d/records/x/event.sqlite-wal> <unfinished ...>"
        let ended = "12 <... fdatasync resumed>) = 0"
        #expect(answers(request, write, begun, answer, ended).first?.unsynced.count == 1)
        #expect(answers(request, write, begun, ended, answer) == [.init(line: 5, wrote: true, synced: true)])
    }

    @Test func `A sync that failed does not count`() {
        let failed = "12 fdatasync(5</d/records/x/event.sqlite-wal>) = -1 EIO (Input/output error)"
        #expect(answers(request, write, failed, answer).first?.unsynced.count == 1)
    }

    @Test func `An answer to something else is left out`() {
        let other = #"11 read(9<TCP:[127.0.0.1:1->127.0.0.1:2]>, "GET /readyz HTTP/1.1\r\n", 2048) = 31"#
        #expect(answers(other, answer).isEmpty)
    }
}
