import CSQLite
import Glibc
import Synchronization

/// SQLite's own file layer, except that a sync which a signal interrupts is repeated.
///
/// SQLite repeats interrupted reads, writes and opens, but treats an interrupted sync as a broken disk and rolls the
/// transaction back. The error's `errno` is lost on the way, so nobody above could know.
enum RepeatedSync {
    /// The name under which SQLite knows the layer; `nil` if SQLite refused it, and its default layer is used.
    static let name: String? = register()

    private static let registeredName = "ws1-repeated-sync"

    /// The methods of an open file, with those that SQLite's layer gave it.
    private struct Methods {
        var own: sqlite3_io_methods
        let original: UnsafePointer<sqlite3_io_methods>

        init(_ original: UnsafePointer<sqlite3_io_methods>) {
            own = original.pointee
            self.original = original
            own.xSync = { file, flags in
                guard let file, let methods = file.pointee.pMethods else { return SQLITE_MISUSE }
                // The struct begins with the methods.
                let original = UnsafeRawPointer(methods).assumingMemoryBound(to: Methods.self).pointee.original.pointee
                while true {
                    let result = original.xSync(file, flags)
                    var systemError: Int32 = 0
                    guard result != SQLITE_OK,
                        original.xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &systemError) == SQLITE_OK,
                        systemError == EINTR
                    else { return result }
                }
            }
        }
    }

    /// The tables by the address of the original methods. SQLite has a handful of these tables, and they stay for good.
    private static let tables = Mutex<[UInt: UInt]>([:])

    private static func methods(_ original: UnsafePointer<sqlite3_io_methods>) -> UnsafePointer<sqlite3_io_methods>? {
        let key = UInt(bitPattern: original)
        let address = tables.withLock { tables in
            if let known = tables[key] { return known }
            let made = UnsafeMutablePointer<Methods>.allocate(capacity: 1)
            made.initialize(to: Methods(original))
            tables[key] = UInt(bitPattern: made)
            return UInt(bitPattern: made)
        }
        return UnsafePointer(bitPattern: address)
    }

    private static func register() -> String? {
        guard let base = sqlite3_vfs_find("unix") else { return nil }
        let layer = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        layer.initialize(to: base.pointee)
        layer.pointee.pNext = nil
        layer.pointee.zName = UnsafePointer(strdup(registeredName))
        layer.pointee.xOpen = { _, path, file, flags, chosen in
            guard let base = sqlite3_vfs_find("unix") else { return SQLITE_CANTOPEN }
            let result = base.pointee.xOpen(base, path, file, flags, chosen)
            if let file, let original = file.pointee.pMethods { file.pointee.pMethods = RepeatedSync.methods(original) }
            return result
        }
        return sqlite3_vfs_register(layer, 0) == SQLITE_OK ? registeredName : nil
    }
}
