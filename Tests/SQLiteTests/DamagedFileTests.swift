import Foundation
import TestKit
import Testing

@testable import SQLite

/// A file cut short or with flipped bits gives valid rows or a typed error, never a crash and never a row of another
/// shape.
@Suite struct DamagedFileTests {
    let directory: TemporaryDirectory
    var path: String { directory.file("damaged.sqlite") }
    let sound: [UInt8]

    init() throws {
        directory = try TemporaryDirectory()
        let path = directory.file("sound.sqlite")
        var options = Connection.Options(applicationID: 99)
        options.pageSize = 1024
        let connection = try Connection(path: path, options: options)
        try connection.execute("CREATE TABLE t(x INTEGER PRIMARY KEY, y BLOB NOT NULL, z TEXT); CREATE INDEX i ON t(z)")
        try connection.transaction { () throws(SQLiteError) in
            let insert = try connection.cached("INSERT INTO t(y, z) VALUES(?1, ?2)")
            for number in 0..<60 {
                try insert.bind([UInt8](repeating: UInt8(number), count: number * 40), "row \(number)")
                try insert.run()
            }
        }
        try connection.close()
        sound = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    enum Reading: Equatable {
        case whole
        case changed
        case failed(SQLiteError.Code)
    }

    /// Opens, reads everything, checks, writes: what a program would do to it.
    func use(_ bytes: [UInt8]) throws -> Reading {
        for suffix in ["", "-wal", "-shm", "-journal"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        do throws(SQLiteError) {
            let connection = try Connection(path: path, options: .init(applicationID: 99))
            let select = try connection.cached("SELECT x, y, z FROM t ORDER BY x")
            var rows = 0
            var right = 0
            while try select.step() {
                rows += 1
                let number = select.int64(0) - 1
                if (0..<60).contains(number), select.string(2) == "row \(number)",
                    select.bytes(1) == [UInt8](repeating: UInt8(number), count: Int(number) * 40)
                {
                    right += 1
                }
                _ = try select.optionalUInt64(0)
            }
            let findings = try connection.integrityCheck(limit: 5)
            try connection.transaction { () throws(SQLiteError) in
                try connection.execute("INSERT INTO t(y, z) VALUES(x'00', 'new'); DELETE FROM t WHERE x < 30")
            }
            try connection.close()
            return findings.isEmpty && rows == 60 && right == 60 ? .whole : .changed
        } catch {
            return .failed(error.code)
        }
    }

    static let expected: Set<SQLiteError.Code> = [
        .corrupt, .notADatabase, .io, .cannotOpen, .readOnly, .other, .constraint, .pragma, .outOfMemory, .tooBig,
    ]

    @Test func `The sound file is read`() throws {
        #expect(try use(sound) == .whole)
    }

    @Test func `A file cut short anywhere is never accepted as whole`() throws {
        var lengths = Array(stride(from: 1, to: sound.count, by: 997))
        lengths += [15, 16, 99, 100, 101, 511, 512, 1023, 1024, 1025, sound.count - 1024, sound.count - 1]
        for length in lengths {
            let reading = try use(Array(sound.prefix(length)))
            #expect(reading != .whole, "\(length) of \(sound.count) bytes")
            if case .failed(let code) = reading { #expect(Self.expected.contains(code), "\(length): \(code)") }
        }
    }

    @Test func `Flipped bits give rows or a typed error`() throws {
        var generator = SplitMix64(seed: 2026)
        var failures = 0
        for round in 0..<300 {
            var bytes = sound
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                // Half of the flips hit the structures: page heads and cell pointers.
                let page = Int.random(in: 0..<bytes.count / 1024, using: &generator) * 1024
                let offset = Int.random(in: 0..<(Bool.random(using: &generator) ? 110 : 1024), using: &generator)
                bytes[page + offset] ^= 1 << UInt8.random(in: 0...7, using: &generator)
            }
            if case .failed(let code) = try use(bytes) {
                failures += 1
                #expect(Self.expected.contains(code), "round \(round): \(code)")
            }
        }
        #expect(failures > 20)
    }

    @Test func `A WAL cut short or flipped gives a prefix of the transactions`() throws {
        let path = directory.file("live.sqlite")
        let connection = try Connection(path: path)
        try connection.execute("CREATE TABLE t(x INTEGER PRIMARY KEY)")
        for number in 1...20 { try connection.execute("INSERT INTO t VALUES(\(number))") }
        let main = try Data(contentsOf: URL(fileURLWithPath: path))
        let wal = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path + "-wal")))
        var generator = SplitMix64(seed: 7)
        for round in 0..<60 {
            var bytes = wal
            if round.isMultiple(of: 2) {
                bytes = Array(wal.prefix(Int.random(in: 0..<wal.count, using: &generator)))
            } else {
                bytes[Int.random(in: 0..<wal.count, using: &generator)] ^= 0x10
            }
            for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: self.path + suffix) }
            try main.write(to: URL(fileURLWithPath: self.path))
            try Data(bytes).write(to: URL(fileURLWithPath: self.path + "-wal"))
            let damaged = try Connection(path: self.path)
            guard try damaged.pragma("schema_version") != "0" else { continue }  // not even the table
            let select = try damaged.prepare("SELECT x FROM t ORDER BY x")
            var numbers: [Int64] = []
            while try select.step() { numbers.append(select.int64(0)) }
            #expect(numbers == Array(1...20).prefix(numbers.count).map(Int64.init), "round \(round)")
        }
    }
}
