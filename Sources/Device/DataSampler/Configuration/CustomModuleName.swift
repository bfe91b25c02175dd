import SampleModules

/// What a custom module may be called: 1 to 64 of `a-z A-Z 0-9 . _ -`, beginning with a letter, and not the name of a built-in module.
enum CustomModuleName {
    static let maximumBytes = 64

    /// Why a name cannot be; `nil`: it can.
    static func objection(to name: String) -> String? {
        guard (1...maximumBytes).contains(name.utf8.count), let first = name.utf8.first, isLetter(first),
            name.utf8.allSatisfy({ isLetter($0) || (0x30...0x39).contains($0) || [0x2E, 0x5F, 0x2D].contains($0) })
        else {
            return "a module's name has 1 to \(maximumBytes) of a-z A-Z 0-9 . _ - and begins with a letter; '\(name.prefix(80))' has not"
        }
        guard SampleModuleName(rawValue: name) == nil else { return "'\(name)' is the name of a built-in module" }
        return nil
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) || (0x41...0x5A).contains(byte) }
}
