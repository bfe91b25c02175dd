/// The names of a result's columns, by which its rows are read.
///
/// Each search begins where the last one ended. So reading the columns in the order of the SELECT costs one comparison
/// for each.
package struct ColumnNames: Sendable {
    private let names: [String]
    private var next = 0

    /// - Throws: if two columns have the same name.
    package init(_ names: [String]) throws(ColumnNameFault) {
        for (index, name) in names.enumerated() where names[..<index].contains(name) {
            throw ColumnNameFault("two of its columns are named \(name); name one of them with AS")
        }
        self.names = names
    }

    /// The column's number, counted from 0.
    /// - Throws: if there is no column of that name.
    package mutating func index(of name: String) throws(ColumnNameFault) -> Int {
        for offset in names.indices {
            var index = next + offset
            if index >= names.count { index -= names.count }
            guard names[index] == name else { continue }
            // The same column is often read twice: whether it is NULL, then its value.
            next = index
            return index
        }
        throw ColumnNameFault("it has no column \(name); its columns are \(names.joined(separator: ", "))")
    }
}

/// Says what is wrong with the names of a result's columns: a fault of the program.
package struct ColumnNameFault: Error {
    package let finding: String

    init(_ finding: String) { self.finding = finding }
}
