import ArgumentParser
import CollectorClient
import CommandKit
import FoundationEssentials
import HTTPConnection
import WireModel

/// How a collector is reached, as flags.
struct CollectorSettings: ParsableArguments {
    @Option(help: ArgumentHelp("The collector: http[s]://HOST[:PORT] (WS1_COLLECTOR).", valueName: "url"))
    var collector: String?

    @Option(
        help: ArgumentHelp(
            """
            A file with your access token (WS1_TOKEN_FILE, or the token itself in WS1_TOKEN). The token is no flag, \
            because others see flags.
            """, valueName: "file"), completion: .file())
    var tokenFile: String?

    @Option(
        help: ArgumentHelp(
            "The organization that is meant, for a token of all organizations (WS1_ORGANIZATION).", valueName: "name"))
    var organization: String?

    @Option(
        help: ArgumentHelp(
            "PEM file of certificate authorities to trust beside those of the system (WS1_CA).", valueName: "file"),
        completion: .file())
    var ca: String?

    @Option(help: ArgumentHelp("An HTTP proxy on the way to the collector (WS1_PROXY).", valueName: "url"))
    var proxy: String?

    @Flag(
        help: """
            Speak plain http:// to a collector on another machine too. Everybody on the way can then read your token \
            and the data (WS1_ALLOW_PLAINTEXT).
            """)
    var allowPlaintext = false

    var context: Context {
        var context = Context()
        context.collector = collector
        context.tokenFile = tokenFile
        context.organization = organization
        context.certificateAuthorityFile = ca
        context.proxy = proxy
        context.allowsPlaintext = allowPlaintext ? true : nil
        return context
    }
}

/// The collector of a command: flags, over the environment, over a context.
struct CollectorOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The context that names the collector (WS1CTL_CONTEXT). Default: the current one.", valueName: "name"),
        completion: .contexts)
    var context: String?

    @OptionGroup(title: "Collector") var settings: CollectorSettings

    /// What is in force.
    /// - Parameter file: reads the file of contexts. It is not read where the collector is named without it.
    func resolve(_ environment: [String: String], _ file: () throws(CommandError) -> ContextFile) throws(CommandError)
        -> Context
    {
        let flags = settings.context
        let variables = Context(environment: environment)
        guard context == nil || flags.collector == nil else {
            throw CommandError(
                .usage, "--context and --collector name two collectors: give one, so that no token goes to the other")
        }
        // The token of a context goes to the collector of that context only.
        var base = Context()
        if let context {
            base = try file().context(named: context)
        } else if flags.collector == nil, variables.collector == nil {
            let file = try file()
            let name = environment["WS1CTL_CONTEXT"].flatMap { $0.isEmpty ? nil : $0 } ?? file.current
            if let name { base = try file.context(named: name) }
        }
        // A context that is named on the command line is meant; the environment then only adds to it.
        let resolved =
            context == nil
            ? base.overridden(by: variables).overridden(by: flags)
            : variables.overridden(by: base).overridden(by: flags)
        guard resolved.collector != nil else {
            throw CommandError(
                .usage,
                """
                no collector is named: make a context with `ws1ctl context set NAME --collector URL --token-file \
                FILE`, or give --collector
                """)
        }
        return resolved
    }

    /// The token: of the flag, of a context that is named on the command line, of the environment, of the context.
    private func token(_ context: Context, _ environment: [String: String]) throws(CollectorClientError)
        -> AccessToken
    {
        let isInEnvironment = ["WS1_TOKEN", "WS1_TOKEN_FILE"].contains { !(environment[$0] ?? "").isEmpty }
        if settings.tokenFile == nil, context.tokenFile != nil, self.context == nil, isInEnvironment {
            return try AccessToken(file: nil, environment: environment)
        }
        return try AccessToken(file: context.tokenFile, environment: environment)
    }

    /// Runs `body` with a session at the collector.
    /// - Throws: `.usage` for a setting that is missing or wrong, and what `body` throws.
    func ask<Value>(_ body: (Session) async throws -> Value) async throws -> Value {
        let environment = ProcessInfo.processInfo.environment
        let context = try resolve(environment) { () throws(CommandError) in
            try ContextFile(at: try ContextFile.path(environment))
        }
        let token = try token(context, environment)
        var connection: ConnectionSettings
        do throws(ConnectionSettingsError) {
            connection = ConnectionSettings(collector: try EndpointURL(collector: context.collector ?? ""))
            connection.certificateAuthorityFile = context.certificateAuthorityFile
            if let proxy = context.proxy { connection.proxy = try EndpointURL(proxy: proxy) }
            try connection.applyProxy(from: ProxyEnvironment(environment))
            connection.allowsPlaintext = context.allowsPlaintext ?? false
            try connection.check()
        } catch { throw CommandError(.usage, error.message, cause: error) }
        return try await CollectorClient.with(
            connection, token: token.secret, organization: context.organization
        ) { client in
            try await body(
                Session(collector: client.name, organization: context.organization) {
                    (call, key) async throws(CollectorClientError) in try await client.call(call, key: key)
                })
        }
    }
}

/// How a command prints its result.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print JSON.")
    var json = false

    @Flag(help: "Print only names, one to a line, as shell completion needs them.")
    var names = false
}

extension CompletionKind {
    /// The names of contexts. The shell asks this program.
    static var contexts: CompletionKind { .shellCommand("ws1ctl context list --names 2>/dev/null") }
    /// The names of the current collector's devices.
    static var devices: CompletionKind { .shellCommand("ws1ctl device list --all --names 2>/dev/null") }
}
