import WireModel

/// How a personal value is written. This decides what its coarse form is.
enum PersonalForm: Sendable {
    /// Free text. It has no coarse form.
    case text
    case hostName
    case email
    case personName
    /// Six bytes in hexadecimal.
    case macAddress
    /// The name of a network interface. It may end in a hardware address; other names are technical.
    case interfaceName
    case ipAddress
    case path
    /// A double, in degrees.
    case degrees
    /// A number or Boolean that has no coarse form.
    case figure
    /// A number whose coarse form keeps two digits.
    case roundedInteger
    case roundedReal
    /// Microseconds since 1970.
    case date
    /// A Boolean. It is as coarse as can be.
    case flag
}

extension PersonalForm {
    /// Whether values are text or bytes, and not numbers.
    var isText: Bool {
        switch self {
        case .text, .hostName, .email, .personName, .macAddress, .interfaceName, .ipAddress, .path: true
        case .degrees, .figure, .roundedInteger, .roundedReal, .date, .flag: false
        }
    }

    // MARK: Coarse

    /// The coarse form of a text; `nil` if there is none.
    func coarse(_ text: String) -> String? {
        switch self {
        case .text: nil
        case .hostName:
            text.firstIndex(of: ".").map { String(text[text.index(after: $0)...]) }.flatMap { $0.isEmpty ? nil : $0 }
        case .email:
            text.lastIndex(of: "@").map { String(text[$0...]) }.flatMap { $0.count > 1 ? $0 : nil }
        case .personName: Self.initials(text)
        case .macAddress: MACAddressText(text)?.maker
        case .interfaceName: InterfaceNameAddress.coarse(text)
        case .ipAddress: IPAddressText(text)?.network
        case .path: Self.firstComponent(text)
        case .degrees, .figure, .roundedInteger, .roundedReal, .date, .flag: nil
        }
    }

    /// The coarse form of a number; `nil` if there is none.
    /// - Parameter grid: of positions, in degrees, above 0.
    func coarse(_ number: Double, grid: Double) -> Double? {
        guard number.isFinite else { return nil }
        switch self {
        case .degrees: return Self.onGrid(number, grid)
        case .roundedReal: return Self.twoDigits(number)
        default: return nil
        }
    }

    /// Like the function above, for values encoded as varints.
    func coarse(varint: UInt64) -> UInt64? {
        switch self {
        case .flag: return varint
        case .roundedInteger:
            // A sint64 is zigzag-encoded.
            let integer = Int64(bitPattern: varint >> 1) ^ -Int64(bitPattern: varint & 1)
            let coarse = Self.twoDigits(integer)
            return UInt64(bitPattern: (coarse << 1) ^ (coarse >> 63))
        case .date:
            let date = Int64(bitPattern: varint)
            let day: Int64 = 86_400 * 1_000_000
            let (quotient, remainder) = date.quotientAndRemainder(dividingBy: day)
            let start = (remainder < 0 ? quotient - 1 : quotient).multipliedReportingOverflow(by: day)
            return UInt64(bitPattern: start.overflow ? date - remainder : start.partialValue)
        default: return nil
        }
    }

    /// The nearest line of the grid. 0.01 degrees of latitude are 1.1 km; of longitude the same at the equator and less
    /// elsewhere. A line beyond a pole or the antimeridian is no degree; the one before it counts.
    private static func onGrid(_ degrees: Double, _ grid: Double) -> Double {
        let line = at((degrees / grid).rounded(), grid)
        let most = degrees.magnitude <= 90 ? 90.0 : 180
        return line.magnitude <= most ? line : at((degrees / grid).rounded(.towardZero), grid)
    }

    private static func at(_ line: Double, _ grid: Double) -> Double {
        // Divided where that is exact, so that 52.52 is written as such.
        let perDegree = (1 / grid).rounded()
        return (perDegree * grid - 1).magnitude < 1e-9 ? line / perDegree : line * grid
    }

    private static func twoDigits(_ integer: Int64) -> Int64 {
        var magnitude = integer.magnitude
        var scale: UInt64 = 1
        while magnitude >= 100 {
            magnitude /= 10
            scale *= 10
        }
        // Cut, not rounded: the result never grows, so it fits.
        let coarse = Int64(clamping: magnitude * scale)
        return integer < 0 ? -coarse : coarse
    }

    private static func twoDigits(_ number: Double) -> Double {
        guard number != 0 else { return 0 }
        // Goes through text, because powers of ten have no exact inverse in binary.
        let text = String(number.magnitude)
        let parts = text.split(separator: "e", maxSplits: 1)
        var digits = 0
        var seen = false
        var point = false
        var kept = ""
        for character in parts[0] {
            if character == "." {
                point = true
                kept.append(character)
                continue
            }
            if character != "0" { seen = true }
            if seen { digits += 1 }
            if digits <= 2 { kept.append(character) } else if !point { kept.append("0") }
        }
        if kept.last == "." { kept.append("0") }
        let magnitude = Double(parts.count > 1 ? "\(kept)e\(parts[1])" : kept) ?? 0
        return number < 0 ? -magnitude : magnitude
    }

    /// "Anna Maria Muster" becomes "A. M. M.".
    private static func initials(_ name: String) -> String? {
        let initials = name.split(whereSeparator: \.isWhitespace).compactMap(\.first).prefix(4).map { "\($0)." }
        return initials.isEmpty ? nil : initials.joined(separator: " ")
    }

    /// "/home/anna/stick" becomes "/home". The root, and text that is no path ("tmpfs"), are as coarse as can be.
    private static func firstComponent(_ path: String) -> String {
        guard path.hasPrefix("/") else {
            return path.split(separator: "/", maxSplits: 1).first.map(String.init) ?? path
        }
        return "/" + (path.split(separator: "/", maxSplits: 1).first ?? "")
    }

    // MARK: Hashed

    /// The hash of a text. Equal values in different spellings have the same hash.
    func hashed(_ text: String, of fieldClass: FieldClass, by hasher: PrivacyHasher, bytes: UnsafeRawBufferPointer)
        -> String
    {
        switch self {
        case .hostName, .email: hasher.hash(text.lowercased().utf8, of: fieldClass)
        case .macAddress: hasher.hash((MACAddressText(text)?.canonical ?? text).utf8, of: fieldClass)
        case .ipAddress: hasher.hash((IPAddressText(text)?.canonical ?? text).utf8, of: fieldClass)
        case .interfaceName: InterfaceNameAddress.hashed(text, by: hasher)
        // Unchanged: an SSID consists of bytes, not text.
        case .text, .personName, .path, .degrees, .figure, .roundedInteger, .roundedReal, .date, .flag:
            hasher.hash(bytes, of: fieldClass)
        }
    }
}
