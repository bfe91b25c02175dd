/// Why a server for tests could not be made, started or asked.
package struct PostgresTestFailure: Error, CustomStringConvertible {
    package var description: String

    init(_ description: String) { self.description = description }
}
