/// A collector and the person's way to it, under a name. It holds no secret: the token is in a file of its own.
struct Context: Equatable, Sendable {
    var collector: String?
    var tokenFile: String?
    /// The one that is looked at, for a token that sees several.
    var organization: String?
    /// PEM file of further trusted authorities.
    var certificateAuthorityFile: String?
    var proxy: String?
    var allowsPlaintext: Bool?

    /// A property by its key in the file.
    struct Key: Sendable {
        let name: String
        let read: @Sendable (Context) -> String?
        let write: @Sendable (inout Context, String) -> Bool
    }

    /// The keys of a context in the file, in their order.
    static let keys: [Key] = [
        text("collector", { $0.collector }) { $0.collector = $1 },
        text("token-file", { $0.tokenFile }) { $0.tokenFile = $1 },
        text("organization", { $0.organization }) { $0.organization = $1 },
        text("ca", { $0.certificateAuthorityFile }) { $0.certificateAuthorityFile = $1 },
        text("proxy", { $0.proxy }) { $0.proxy = $1 },
        Key(
            name: "allow-plaintext", read: { $0.allowsPlaintext.map { "\($0)" } },
            write: { context, text in
                context.allowsPlaintext = Bool(text)
                return context.allowsPlaintext != nil
            }),
    ]

    private static func text(
        _ name: String, _ read: @escaping @Sendable (Context) -> String?,
        _ write: @escaping @Sendable (inout Context, String) -> Void
    ) -> Key {
        Key(name: name, read: read) { context, text in
            write(&context, text)
            return !text.isEmpty
        }
    }

    /// This context with what `other` says instead.
    func overridden(by other: Context) -> Context {
        var context = self
        for key in Self.keys {
            if let value = key.read(other) { _ = key.write(&context, value) }
        }
        return context
    }

    /// What the environment names. An empty variable counts as unset.
    init(environment: [String: String]) {
        func given(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        collector = given("WS1_COLLECTOR")
        organization = given("WS1_ORGANIZATION")
        certificateAuthorityFile = given("WS1_CA")
        proxy = given("WS1_PROXY")
        allowsPlaintext = given("WS1_ALLOW_PLAINTEXT").flatMap { Bool($0) }
    }

    init() {}
}
