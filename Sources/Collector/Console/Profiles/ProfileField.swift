/// A field of a profile, as the schema `Profile` of the API describes it. `Tools/generate-profile-fields` writes the
/// list of all of them, so that the form has exactly the fields that the API accepts.
struct ProfileField: Sendable {
    indirect enum Kind: Sendable {
        case boolean
        case number(isWhole: Bool, Double?, Double?)
        case text(maximumLength: Int?)
        /// One of these words.
        case choice([String])
        /// Some of these words. If the empty list decides, it differs from no list.
        case choices([String], emptyDecides: Bool)
        /// Any texts.
        case texts(emptyDecides: Bool)
        /// Objects with `latitude` and `longitude`, one to a line.
        case positions
        /// Objects with these fields.
        case rows([ProfileField])
        /// A map that has one of the words under each of the names.
        case map([String], [String])
        case object([ProfileField])
    }

    var name: String
    var kind: Kind
    var description: String

    init(_ name: String, _ kind: Kind, _ description: String) {
        self.name = name
        self.kind = kind
        self.description = description
    }
}
