/// What a value of a column is expected to be. The raw values are in blocks on disk.
enum Predictor: UInt8, CaseIterable {
    /// The column's base.
    case constant = 0
    /// The value before.
    case previous = 1
    /// As far from the value before as that was from the one before it.
    case linear = 2
    /// The bits of the value before; the residual is what differs.
    case exclusiveOr = 3
    /// The value before, moved as the other columns have moved.
    case alongside = 4
    /// How far the other columns have moved.
    case increase = 5
    /// The value before and the other columns' values.
    case accumulated = 6
    /// The base without all other whole numbers of the same message.
    case rest = 7
    /// A level that follows the values slowly.
    case level = 8

    /// Whether the column names others.
    var needsOthers: Bool { self == .alongside || self == .increase || self == .accumulated }
}

/// A predictor on its way along a column.
struct Prediction {
    let predictor: Predictor
    let base: UInt64
    /// Residuals are multiples of it; of `exclusiveOr`, how many zero bits each ends with.
    let unit: UInt64
    private var last: UInt64
    private var beforeLast: UInt64
    private var otherLast: UInt64 = 0
    private var isFirst = true

    init(_ predictor: Predictor, base: UInt64, unit: UInt64 = 1) {
        self.predictor = predictor
        self.base = base
        self.unit = unit
        last = base
        beforeLast = base
    }

    /// - Parameter other: the sum of the other columns' values in the same record.
    @inline(__always)
    func expected(_ other: UInt64) -> UInt64 {
        switch predictor {
        case .constant: base
        case .previous, .exclusiveOr, .level: last
        case .linear: last &+ (last &- beforeLast)
        case .alongside: isFirst ? base : last &+ (other &- otherLast)
        case .increase: isFirst ? base : other &- otherLast
        case .accumulated: isFirst ? base : last &+ other
        case .rest: base &- other
        }
    }

    @inline(__always)
    mutating func note(_ value: UInt64, _ other: UInt64) {
        switch predictor {
        case .level:
            last = last &+ UInt64(bitPattern: Int64(bitPattern: value &- last) >> 2)
        default:
            beforeLast = isFirst ? value : last
            last = value
        }
        otherLast = other
        isFirst = false
    }

    /// The residual before it is divided by the unit.
    @inline(__always)
    mutating func wholeResidual(_ value: UInt64, _ other: UInt64) -> Residual {
        defer { note(value, other) }
        let expected = expected(other)
        return predictor == .exclusiveOr
            ? Residual(magnitude: value ^ expected, isNegative: false) : Residual(of: value, from: expected)
    }

    @inline(__always)
    mutating func value(_ residual: Residual, _ other: UInt64) -> UInt64 {
        let expected = expected(other)
        let value =
            predictor == .exclusiveOr
            ? expected ^ (residual.magnitude << unit) : residual.value(from: expected, unit: unit)
        note(value, other)
        return value
    }
}
