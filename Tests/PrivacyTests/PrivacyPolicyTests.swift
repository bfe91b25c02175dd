import Testing
import WireModel

@testable import Privacy

@Suite struct PrivacyPolicyTests {
    @Test func `Network names and positions are dropped and the rest sent, unless somebody says otherwise`() {
        let policy = PrivacyPolicy()
        let dropped = FieldClass.allCases.filter { policy[$0] == .drop }
        #expect(Set(dropped) == [.ssid, .bssid, .position])
        #expect(FieldClass.allCases.filter { policy[$0] == .send }.count == FieldClass.allCases.count - 3)
        #expect(PrivacyPolicy.resolve(local: [:], profile: [:]) == policy)
    }

    @Test(
        arguments: [
            (nil, .unspecified, .drop),
            (nil, .send, .send),
            (.drop, .send, .drop),
            (.hash, .send, .hash),
            (.send, .coarsen, .coarsen),
            (.hash, .coarsen, .coarsen),
            (.coarsen, .hash, .coarsen),
            (.send, .unspecified, .drop),
            (.hash, .drop, .drop),
            (nil, .UNRECOGNIZED(9), .drop),
        ] as [(PrivacyAction?, WirePrivacyAction, PrivacyAction)])
    func `A profile may loosen the default, and local settings only tighten`(
        local: PrivacyAction?, profile: WirePrivacyAction, result: PrivacyAction
    ) {
        let policy = PrivacyPolicy.resolve(local: local.map { [.ssid: $0] } ?? [:], profile: ["ssid": profile])
        #expect(policy[.ssid] == result)
    }

    @Test func `The technical class is sent, whatever anybody says`() {
        let policy = PrivacyPolicy.resolve(
            local: [.technical: .drop], profile: ["technical": .drop, "horoscope": .drop])
        #expect(policy == PrivacyPolicy())
    }

    @Test func `Actions are ordered as their numbers on the wire`() {
        #expect(PrivacyAction.allCases == PrivacyAction.allCases.sorted())
        let wire: [WirePrivacyAction] = [.send, .hash, .coarsen, .drop]
        #expect(wire.map { PrivacyAction($0) } == PrivacyAction.allCases)
        #expect(wire.map(\.rawValue) == wire.map(\.rawValue).sorted())
    }

    @Test func `Until a profile is there, what reports of people and places is dropped`() {
        let early = PrivacyPolicy.resolve(local: [:], profile: nil)
        for fieldClass in FieldClass.decidable {
            let isProgram = [.event, .custom, .detail].contains(fieldClass)
            // Of a path the first component stays, which names nobody.
            let action: PrivacyAction = isProgram ? .send : fieldClass == .path ? .coarsen : .drop
            #expect(early[fieldClass] == action, "\(fieldClass)")
        }
        #expect(PrivacyPolicy.resolve(local: [.event: .drop], profile: nil)[.event] == .drop)
        #expect(PrivacyPolicy.resolve(local: [:], profile: [:])[.deviceName] == .send)
    }
}
