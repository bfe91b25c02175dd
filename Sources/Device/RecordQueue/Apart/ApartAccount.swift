/// Why records wait apart from the streams, without a number.
package enum ApartAccount: String, Sendable, CaseIterable {
    /// The person has not decided yet.
    case consent
}
