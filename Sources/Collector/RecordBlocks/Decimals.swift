/// 64-bit floating-point numbers that are short decimals, such as 21.5, as integers.
enum Decimals {
    /// Exact: 10 to the power of 22 is the greatest one that a `Double` holds.
    private static let powers: [Double] = [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]
    /// Integers below it are exact in a `Double`.
    private static let bound = 9_007_199_254_740_992.0

    /// The bits of the number that is this integer over that power of ten.
    static func bits(_ integer: UInt64, _ decimals: UInt8) -> UInt64 {
        (Double(Int64(bitPattern: integer)) / powers[Int(decimals)]).bitPattern
    }

    /// The integer that `bits` makes the same bits of; `nil` if there is none.
    static func integer(_ number: UInt64, _ decimals: UInt8) -> UInt64? {
        let scaled = (Double(bitPattern: number) * powers[Int(decimals)]).rounded()
        guard scaled.magnitude < bound else { return nil }
        let integer = UInt64(bitPattern: Int64(scaled))
        return bits(integer, decimals) == number ? integer : nil
    }

    /// The fewest decimals with which all numbers are integers; `nil` if nine are not enough.
    static func decimals(of numbers: [UInt64]) -> UInt8? {
        var decimals: UInt8 = 0
        for number in numbers {
            while integer(number, decimals) == nil {
                decimals += 1
                guard decimals <= ColumnCoding.maximumDecimals else { return nil }
            }
        }
        // More decimals can spoil an earlier one.
        return numbers.allSatisfy { integer($0, decimals) != nil } ? decimals : nil
    }
}
