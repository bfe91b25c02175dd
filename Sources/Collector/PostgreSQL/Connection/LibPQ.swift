import CLibPQ
import Glibc
import Synchronization

/// The client library of PostgreSQL, opened when a database is configured and never closed.
///
/// A program without a configured PostgreSQL needs no libpq.
struct LibPQ: @unchecked Sendable {  // The functions are written once, before any other thread sees the pointer.
    private let functions: UnsafePointer<LibPQFunctions>

    var call: LibPQFunctions { functions.pointee }

    private static let opened = Mutex<[String: LibPQ]>([:])

    /// - Parameter name: path or name, as dlopen(3) accepts it.
    /// - Throws: `.configuration` if the library is missing or lacks a function.
    static func open(_ name: String) throws(PostgresError) -> LibPQ {
        if let known = opened.withLock({ $0[name] }) { return known }
        guard let handle = dlopen(name, RTLD_NOW | RTLD_LOCAL) else {
            let reason = dlerror().map { String(cString: $0) } ?? "unknown reason"
            throw PostgresError(
                .configuration,
                "The client library of PostgreSQL cannot be opened: \(reason). Install Debian's package libpq5.")
        }
        let functions = UnsafeMutablePointer<LibPQFunctions>.allocate(capacity: 1)
        if let missing = libpq_load(handle, functions) {
            functions.deallocate()
            dlclose(handle)
            throw PostgresError(
                .configuration,
                "The library \(name) lacks \(String(cString: missing)). Install Debian's package libpq5, version 12 or "
                    + "newer.")
        }
        guard functions.pointee.isthreadsafe() != 0 else {
            throw PostgresError(.configuration, "The library \(name) was built without threads. Install libpq5.")
        }
        let library = LibPQ(functions: UnsafePointer(functions))
        return opened.withLock { known in
            // Two threads may have opened it at once; the handle is the same, and the table of functions is small.
            if let first = known[name] { return first }
            known[name] = library
            return library
        }
    }

    /// The settings of a connection string, with those that libpq adds by itself left out.
    /// - Throws: `.configuration`; libpq's message names the keyword, and is left out, because it may quote a password.
    func parse(_ connectionString: String) throws(PostgresError) -> [String: String] {
        var message: UnsafeMutablePointer<CChar>?
        guard let options = call.conninfoParse(connectionString, &message) else {
            call.freemem(message)
            throw PostgresError(
                .configuration,
                "The connection string of PostgreSQL is not valid. Write postgresql://user@host:5432/name or "
                    + "host=... port=... user=... dbname=...; special characters in a URI are percent-encoded.")
        }
        defer { call.conninfoFree(options) }
        return Self.values(options)
    }

    /// The values that libpq uses for settings that the connection string does not have: from the environment
    /// (`PGHOST`), a service file or its own defaults.
    func defaults() -> [String: String] {
        guard let options = call.conndefaults() else { return [:] }
        defer { call.conninfoFree(options) }
        return Self.values(options)
    }

    private static func values(_ options: UnsafeMutablePointer<PQconninfoOption>) -> [String: String] {
        var settings: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { settings[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        return settings
    }
}

/// Fields of a server's message, as libpq numbers them (postgres_ext.h).
enum DiagnosticField: Unicode.Scalar {
    /// The severity, not translated, in contrast to the field `S`.
    case severity = "V"
    case sqlState = "C"
    case message = "M"
    case schema = "s"
    case table = "t"
    case column = "c"
    case constraint = "n"
}

extension LibPQ {
    func field(_ field: DiagnosticField, of result: OpaquePointer?) -> String? {
        call.resultErrorField(result, Int32(field.rawValue.value)).map { String(cString: $0) }
    }
}
