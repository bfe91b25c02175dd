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

    /// Whether a value is one that only profiles can have. Ask before you remove them: a change copies the list.
    var hasProfilesReference: Bool { contains { $0.value.hasProfilesReference } }

    /// Leaves the values out that only profiles can have.
    mutating func removeProfilesReferences() {
        for place in indices { self[place].value.removeProfilesReferences() }
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
        case .kvlistValue(let list): list.values.hasProfilesReference
        case .arrayValue(let array): array.values.contains { $0.hasProfilesReference }
        default: false
        }
    }

    mutating func removeProfilesReferences() {
        guard hasProfilesReference else { return }
        switch value {
        case .kvlistValue(var list):
            list.values.removeProfilesReferences()
            value = .kvlistValue(list)
        case .arrayValue(var array):
            for place in array.values.indices { array.values[place].removeProfilesReferences() }
            value = .arrayValue(array)
        default: value = nil
        }
    }
}
