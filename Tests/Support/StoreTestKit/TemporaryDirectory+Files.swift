import Foundation
import SQLite
import TestKit
import WireModel

/// The files of a collector's data directory.
extension TemporaryDirectory {
    /// The files as they are at this moment, open or not: what a power cut or kill -9 would leave.
    package func copy() throws -> TemporaryDirectory {
        let copy = try TemporaryDirectory()
        try FileManager.default.removeItem(atPath: copy.path)
        try FileManager.default.copyItem(atPath: path, toPath: copy.path)
        return copy
    }

    package func recordFile(_ day: String, _ stream: StreamName = .sample) -> String {
        "\(path)/records/\(day)/\(stream).sqlite"
    }

    package var days: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: "\(path)/records")) ?? []).filter { $0 != "lock" }
            .sorted()
    }

    /// Runs SQL on a file that nobody has open.
    package func execute(_ sql: String, on file: String) throws {
        let connection = try Connection(path: file, options: .init(mode: .readWrite))
        try connection.execute(sql)
        try connection.close()
    }
}
