/// Per class what becomes of its fields. The technical class is always sent: without it there is no record.
package struct PrivacyPolicy: Equatable, Sendable {
    private var actions: [FieldClass: PrivacyAction]

    /// The compiled defaults.
    package init() {
        actions = Dictionary(uniqueKeysWithValues: FieldClass.allCases.map { ($0, $0.defaultAction) })
    }

    package subscript(_ fieldClass: FieldClass) -> PrivacyAction {
        // Every class has an entry since `init`.
        actions[fieldClass] ?? .drop
    }

    /// The policy in force: the profile's word where it says one, else the default, and never less strict than what is set locally.
    ///
    /// - Parameters:
    ///   - local: from configuration in code, file, flags and environment; can only tighten, also where the profile says nothing yet.
    ///   - profile: class names and actions as they came; names this version does not know have no fields here, and `unspecified`
    ///     decides nothing.
    package static func resolve(local: [FieldClass: PrivacyAction], profile: [String: WirePrivacyAction]) -> PrivacyPolicy {
        var policy = PrivacyPolicy()
        for fieldClass in FieldClass.decidable {
            let decided = profile[fieldClass.rawValue].flatMap { PrivacyAction($0) } ?? fieldClass.defaultAction
            policy.actions[fieldClass] = max(decided, local[fieldClass] ?? .send)
        }
        return policy
    }
}
