import Registry
import Testing
import WireModel

@Suite struct CommandStatusTests {
    private func status(_ states: [WireCommandState]) -> CommandStatus {
        var status = CommandStatus()
        for (place, state) in states.enumerated() {
            var result = WireCommandResult()
            (result.state, result.detail, result.progress) = (state, "\(place)", 20_000)
            status.apply(result)
        }
        return status
    }

    @Test(
        arguments: [
            ([], .unspecified), ([.received], .received), ([.received, .running], .running),
            ([.running, .received], .running),
            ([.running, .notNow], .notNow), ([.notNow, .running], .running), ([.running, .done], .done),
            ([.done, .running], .done),
            ([.done, .failed], .done), ([.failed, .done], .failed), ([.expired, .running], .expired),
            ([.expired, .done], .done),
            ([.unsupported, .expired], .unsupported), ([.received, .unspecified], .received),
            ([.UNRECOGNIZED(40), .received], .UNRECOGNIZED(40)),
            ([.UNRECOGNIZED(40), .done], .done),
        ] as [([WireCommandState], WireCommandState)])
    func `Nothing goes back, and an end stays`(states: [WireCommandState], state: WireCommandState) {
        #expect(status(states).state == state)
    }

    @Test func `Only an end is final`() {
        for state in [WireCommandState.done, .failed, .expired, .unsupported] { #expect(status([state]).isFinal) }
        for state in [WireCommandState.unspecified, .received, .running, .notNow, .UNRECOGNIZED(9)] {
            #expect(!status([state]).isFinal)
        }
    }

    @Test func `Progress and detail are bounded`() {
        #expect(status([.running]).progress == 10_000)
        var result = WireCommandResult()
        result.state = .failed
        result.detail = String(repeating: "x", count: 100_000)
        var bounded = CommandStatus()
        bounded.apply(result)
        #expect(bounded.detail.utf8.count == 4096)
    }
}
