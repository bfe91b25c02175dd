import Logging
import Testing
import WireModel

@testable import LogStore

@Suite struct LogStoreHandlerTests {
    private struct Failure: Error {}

    @Test func `A logger's lines are in the store`() async throws {
        let temporary = try TemporaryStore()
        var configuration = LogStore.Configuration(directory: temporary.directory.path, applicationName: "test")
        (configuration.level, configuration.ringBytes) = (.verbose, 0)
        let store = try LogStore(configuration)
        let provider = Logger.MetadataProvider { ["trace": "7", "own": "provider"] }
        var logger = Logger(
            label: "app.network", factory: { LogStoreHandler(store: store, label: $0, metadataProvider: provider) })
        logger[metadataKey: "own"] = "logger"
        logger[metadataKey: "call"] = "logger"
        logger.info("answered", metadata: ["call": "call", "http": ["method": "GET", "codes": ["200", "304"]]])
        for level in Logger.Level.allCases { logger.log(level: level, "\(level)") }
        await store.close()
        let lines = try WrittenLog(temporary.directory).lines
        #expect(lines.first?.category == "app.network")
        #expect(
            lines.first?.metadata == "call=call http.codes.0=200 http.codes.1=304 http.method=GET own=provider trace=7")
        #expect(
            lines.dropFirst().map { "\($0.level) \($0.message)" } == [
                "verbose trace", "verbose debug", "information info", "information notice", "warning warning",
                "error error",
                "error critical",
            ])
    }

    @Test func `Its level is the store's until it has one`() async throws {
        let temporary = try TemporaryStore()
        var configuration = LogStore.Configuration(directory: temporary.directory.path, applicationName: "test")
        configuration.ringBytes = 0
        let store = try LogStore(configuration)
        var logger = Logger(label: "l", factory: { LogStoreHandler(store: store, label: $0) })
        #expect(logger.logLevel == .info)
        store.level = .verbose
        #expect(logger.logLevel == .trace)
        logger.logLevel = .error
        #expect(logger.logLevel == .error)
        logger.warning("left out")
        logger.error("kept")
        await store.close()
        #expect(try WrittenLog(temporary.directory).lines.map(\.message) == ["kept"])
    }

    @Test func `With a ring, everything is captured`() async throws {
        let temporary = try TemporaryStore()
        let store = try LogStore(LogStore.Configuration(directory: temporary.directory.path, applicationName: "test"))
        let logger = Logger(label: "l", factory: { LogStoreHandler(store: store, label: $0) })
        #expect(logger.logLevel == .trace)
        logger.trace("a step")
        await store.close()
        #expect(try WrittenLog(temporary.directory).lines.map(\.kind) == [.ring])
    }
}
