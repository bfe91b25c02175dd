import CLibPQ

/// One result of libpq, released with its last reference.
final class PostgresResult: @unchecked Sendable {  // libpq only reads a finished result, so threads may share it.
    let library: LibPQ
    let pointer: OpaquePointer

    init(library: LibPQ, pointer: OpaquePointer) {
        self.library = library
        self.pointer = pointer
    }

    deinit { library.call.clear(pointer) }

    var rowCount: Int { Int(library.call.ntuples(pointer)) }
    var columnCount: Int { Int(library.call.nfields(pointer)) }

    func columnName(_ column: Int) -> String {
        library.call.fname(pointer, Int32(column)).map { String(cString: $0) } ?? "\(column)"
    }

    /// The number of the column with this name.
    func column(_ name: String) throws(PostgresError) -> Int {
        let places = (0..<columnCount).filter { columnName($0) == name }
        guard let place = places.first, places.count == 1 else {
            throw PostgresError(.statement, "The result has \(places.count) columns \(name), and one is expected.")
        }
        return place
    }

    func type(_ column: Int) -> UInt32 { library.call.ftype(pointer, Int32(column)) }

    /// The bytes of a value; `nil` for NULL. Valid while this object lives.
    func value(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer? {
        guard library.call.getisnull(pointer, Int32(row), Int32(column)) == 0 else { return nil }
        return UnsafeRawBufferPointer(
            start: library.call.getvalue(pointer, Int32(row), Int32(column)),
            count: Int(library.call.getlength(pointer, Int32(row), Int32(column))))
    }

    /// The server's word for what was done: `COMMIT`, `INSERT 0 3`.
    var commandTag: String { library.call.cmdStatus(pointer).map { String(cString: $0) } ?? "" }
    var affectedRows: Int { library.call.cmdTuples(pointer).flatMap { Int(String(cString: $0)) } ?? 0 }
}
