import FoundationEssentials

/// What can be bound to a statement's parameter.
package protocol BindableValue {
    func bind(to statement: Statement, at index: Int32) throws(SQLiteError)
}

extension Int64: BindableValue {
    package func bind(to statement: Statement, at index: Int32) throws(SQLiteError) { try statement.bind(self, at: index) }
}

extension Int: BindableValue {
    package func bind(to statement: Statement, at index: Int32) throws(SQLiteError) { try statement.bind(self, at: index) }
}

extension Int32: BindableValue {
    package func bind(to statement: Statement, at index: Int32) throws(SQLiteError) { try statement.bind(Int64(self), at: index) }
}

extension UInt32: BindableValue {
    package func bind(to statement: Statement, at index: Int32) throws(SQLiteError) { try statement.bind(Int64(self), at: index) }
}

extension UInt64: BindableValue {
    package func bind(to statement: Statement, at index: Int32) throws(SQLiteError) { try statement.bind(self, at: index) }
}

extension Bool: BindableValue {
    package func bind(to statement: Statement, at index: Int32) throws(SQLiteError) { try statement.bind(Int64(self ? 1 : 0), at: index) }
}

extension Double: BindableValue {
    package func bind(to statement: Statement, at index: Int32) throws(SQLiteError) { try statement.bind(self, at: index) }
}

extension String: BindableValue {
    package func bind(to statement: Statement, at index: Int32) throws(SQLiteError) { try statement.bind(self, at: index) }
}

extension [UInt8]: BindableValue {
    package func bind(to statement: Statement, at index: Int32) throws(SQLiteError) { try statement.bind(self, at: index) }
}

extension Data: BindableValue {
    package func bind(to statement: Statement, at index: Int32) throws(SQLiteError) { try statement.bind(self, at: index) }
}

extension UnsafeRawBufferPointer: BindableValue {
    package func bind(to statement: Statement, at index: Int32) throws(SQLiteError) { try statement.bind(self, at: index) }
}
