import FoundationEssentials
import RecordStore

/// The value of a parameter, as both engines know it.
package enum RegistryValue: Equatable, Sendable {
    case integer(Int64)
    case real(Double)
    case text(String)
    case bytes(Data)
    /// PostgreSQL needs the type of a missing value, too.
    case null(Kind)

    package enum Kind: Sendable {
        case integer
        case real
        case text
        case bytes
    }
}

/// A type that can be the value of a parameter. An optional is one, too; `nil` is NULL.
package protocol RegistryBindable {
    static var registryKind: RegistryValue.Kind { get }

    /// - Throws: `.internalFault` for a number that neither engine can store.
    func registryValue() throws(StoreError) -> RegistryValue
}

extension RegistryBindable where Self: FixedWidthInteger {
    package static var registryKind: RegistryValue.Kind { .integer }

    /// Integers of both engines are signed. A value above `Int64.max` would come back negative and sort first.
    package func registryValue() throws(StoreError) -> RegistryValue {
        guard let value = Int64(exactly: self) else {
            throw StoreError(
                .internalFault, "an integer above 9,223,372,036,854,775,807 cannot be stored. This is a defect.")
        }
        return .integer(value)
    }
}

extension Int: RegistryBindable {}
extension Int32: RegistryBindable {}
extension Int64: RegistryBindable {}
extension UInt32: RegistryBindable {}
extension UInt64: RegistryBindable {}

extension Bool: RegistryBindable {
    package static var registryKind: RegistryValue.Kind { .integer }
    package func registryValue() throws(StoreError) -> RegistryValue { .integer(self ? 1 : 0) }
}

extension Double: RegistryBindable {
    package static var registryKind: RegistryValue.Kind { .real }
    package func registryValue() throws(StoreError) -> RegistryValue { .real(self) }
}

extension String: RegistryBindable {
    package static var registryKind: RegistryValue.Kind { .text }
    package func registryValue() throws(StoreError) -> RegistryValue { .text(self) }
}

extension Data: RegistryBindable {
    package static var registryKind: RegistryValue.Kind { .bytes }
    package func registryValue() throws(StoreError) -> RegistryValue { .bytes(self) }
}

extension Optional: RegistryBindable where Wrapped: RegistryBindable {
    package static var registryKind: RegistryValue.Kind { Wrapped.registryKind }

    package func registryValue() throws(StoreError) -> RegistryValue {
        guard let value = self else { return .null(Self.registryKind) }
        return try value.registryValue()
    }
}
