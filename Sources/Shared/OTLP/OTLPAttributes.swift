extension [OTLPKeyValue] {
    /// Whether a key is there twice, here or in a map among the values.
    ///
    /// Keys are compared byte by byte, so a comparison takes no longer than the keys are.
    var hasDuplicateKey: Bool {
        // Few are compared with each other. Many would take a time that grows with the square.
        if count <= 16 {
            for (place, attribute) in enumerated() {
                for other in self[..<place] where other.key.utf8.elementsEqual(attribute.key.utf8) { return true }
            }
        } else {
            var seen: Set<[UInt8]> = []
            for attribute in self where !seen.insert(Array<UInt8>(attribute.key.utf8)).inserted { return true }
        }
        return contains { $0.value.hasDuplicateKey }
    }

    /// Leaves the values out that only profiles can have.
    /// - Returns: how many.
    mutating func removeProfilesReferences() -> Int {
        // Most requests have none, and a change would copy the list.
        guard contains(where: { $0.value.hasProfilesReference }) else { return 0 }
        return indices.reduce(0) { $0 + self[$1].value.removeProfilesReferences() }
    }
}

extension OTLPAnyValue {
    var hasDuplicateKey: Bool {
        switch value {
        case .kvlistValue(let list): list.values.hasDuplicateKey
        case .arrayValue(let array): array.values.contains { $0.hasDuplicateKey }
        default: false
        }
    }

    var hasProfilesReference: Bool {
        switch value {
        case .stringValueStrindex: true
        case .kvlistValue(let list): list.values.contains { $0.value.hasProfilesReference }
        case .arrayValue(let array): array.values.contains { $0.hasProfilesReference }
        default: false
        }
    }

    /// - Returns: how many.
    mutating func removeProfilesReferences() -> Int {
        switch value {
        case .stringValueStrindex:
            value = nil
            return 1
        case .kvlistValue(var list):
            let count = list.values.removeProfilesReferences()
            if count > 0 { value = .kvlistValue(list) }
            return count
        case .arrayValue(var array):
            let count = array.values.indices.reduce(0) { $0 + array.values[$1].removeProfilesReferences() }
            if count > 0 { value = .arrayValue(array) }
            return count
        default: return 0
        }
    }
}
