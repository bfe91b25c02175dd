/// The channel that a frequency is the centre of (IEEE 802.11, annex E).
enum WLANChannel {
    /// - Returns: `nil` for what is no channel of 2.4, 5, 6 or 60 GHz.
    static func number(ofMegahertz frequency: UInt32) -> UInt32? {
        switch frequency {
        case 2_484: 14
        case 2_412...2_472: step(frequency, from: 2_407, by: 5)
        // Japan's public safety band.
        case 4_910...4_980: step(frequency, from: 4_000, by: 5)
        case 5_005...5_920: step(frequency, from: 5_000, by: 5)
        case 5_935: 2
        case 5_955...7_115: step(frequency, from: 5_950, by: 5)
        case 58_320...70_200: step(frequency, from: 56_160, by: 2_160)
        default: nil
        }
    }

    private static func step(_ frequency: UInt32, from base: UInt32, by width: UInt32) -> UInt32? {
        (frequency - base).isMultiple(of: width) ? (frequency - base) / width : nil
    }
}
