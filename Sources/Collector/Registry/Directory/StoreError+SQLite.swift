import Glibc
import RecordStore
import SQLite
import TelemetryBasics

extension StoreError {
    package static func databaseGone(_ path: String) -> StoreError {
        StoreError(
            .io,
            """
            \(path) was removed or replaced while the collector had it open. Stop the collector, put the file back, \
            and start it again.
            """
        )
    }

    package static func noCollector(_ path: String) -> StoreError {
        if access("\(path)/collector.sqlite", R_OK) != 0,
            let denial = AccessDenial.text("\(path)/collector.sqlite", errno)
        {
            return StoreError(.io, "\(path) cannot be read: \(denial).")
        }
        return StoreError(
            .notFound,
            """
            \(path) is not a collector's data directory: there is no collector.sqlite, or nothing in it. Start `serve` \
            once.
            """
        )
    }

    /// Translates SQLite's error. Its message already names the file and what to do.
    package init(_ error: SQLiteError) {
        let code: Code =
            switch error.code {
            case .full: .diskFull
            case .corrupt, .notADatabase: .corrupt
            case .unsupportedVersion: .newerVersion
            case .busy, .locked: .inUse
            case .io, .readOnly, .cannotOpen, .interrupted, .outOfMemory, .pragma: .io
            case .constraint: .conflict
            case .tooBig: .invalid
            case .misuse, .other: .internalFault
            }
        self.init(code, error.message, cause: "\(error)")
    }

    /// The value of an expression that throws SQLite's errors, which are translated.
    package static func mapping<T>(_ value: @autoclosure () throws(SQLiteError) -> T) throws(StoreError) -> T {
        do { return try value() } catch { throw StoreError(error) }
    }

    /// The same for several statements.
    package static func mapping<T>(_ body: () throws(SQLiteError) -> T) throws(StoreError) -> T {
        do { return try body() } catch { throw StoreError(error) }
    }
}
