import Testing
import WireModel

@testable import DataSampler

@Suite struct LogRequestTests {
    private func wire(_ change: (inout WireRequestLogs) -> Void) -> WireRequestLogs {
        var wire = WireRequestLogs()
        change(&wire)
        return wire
    }

    @Test func `A request without settings asks for everything that is there`() throws {
        let request = try #require(LogRequest(WireRequestLogs()))
        #expect(request.mode == .snapshot)
        #expect(request.filter.isEverything)
        #expect(
            request.type == nil && request.application == nil && request.maximumBytes == nil && !request.includesRing)
    }

    @Test func `All settings of a request are applied`() throws {
        let request = try #require(
            LogRequest(
                wire {
                    $0.mode = .capture
                    $0.captureSeconds = 60
                    $0.type = .application
                    $0.application = "com.example.kiosk"
                    $0.level = .warning
                    $0.since = 5
                    $0.until = 9
                    $0.maximumBytes = 1000
                    $0.categories = ["net.*"]
                    $0.text = "closed"
                    $0.includeVerboseRing = true
                }))
        #expect(request.mode == .capture(seconds: 60))
        #expect(request.type == .application && request.application == "com.example.kiosk")
        #expect(request.filter == LogFilter(level: .warning, since: 5, until: 9, categories: ["net.*"], text: "closed"))
        #expect(request.maximumBytes == 1000)
        #expect(request.includesRing)
    }

    private static let refused: [(String, @Sendable (inout WireRequestLogs) -> Void)] = [
        ("seconds", { $0.mode = .capture }),
        (
            "seconds",
            {
                $0.mode = .capture
                $0.captureSeconds = 86_401
            }
        ),
        (
            "crash",
            {
                $0.mode = .capture
                $0.captureSeconds = 1
                $0.type = .crash
            }
        ),
        (
            "range",
            {
                $0.since = 5
                $0.until = 5
            }
        ),
        ("categories", { $0.categories = Array(repeating: "a", count: 65) }),
        ("categories", { $0.categories = [String(repeating: "a", count: 129)] }),
        ("text", { $0.text = String(repeating: "a", count: 1025) }),
        ("update", { $0.mode = .UNRECOGNIZED(9) }), ("update", { $0.type = .UNRECOGNIZED(9) }),
        ("update", { $0.level = .UNRECOGNIZED(9) }),
    ]

    @Test(arguments: refused)
    func `What cannot be done is refused with its reason`(
        _ word: String, _ change: @Sendable (inout WireRequestLogs) -> Void
    )
        throws
    {
        let wire = wire(change)
        #expect(LogRequest(wire) == nil)
        #expect(try #require(LogRequest.objection(to: wire)).contains(word))
    }
}
