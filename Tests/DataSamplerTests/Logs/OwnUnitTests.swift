import Testing

@testable import DataSampler

@Suite struct OwnUnitTests {
    @Test(arguments: [
        ("0::/system.slice/ws1agent.service\n", "ws1agent.service"),
        ("12:cpu:/system.slice/a.service/sub\n0::/system.slice/a.service/sub\n", "a.service"),
        ("0::/user.slice/user-1000.slice/session-3.scope\n", nil), ("0::/\n", nil), ("", nil), ("::::", nil),
    ]) func `The unit of a process is the service in the path of its group`(text: String, name: String?) {
        #expect(OwnUnit.name(in: text) == name)
    }
}
