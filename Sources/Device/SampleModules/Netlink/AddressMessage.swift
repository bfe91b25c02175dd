/// `RTM_NEWADDR`: one address of an interface.
struct AddressMessage: Equatable, Sendable {
    static let type: UInt16 = 20
    /// The addresses of all interfaces and both families.
    static let all = NetlinkRequest(family: .route, type: 22, isDump: true, payload: [UInt8](repeating: 0, count: headerLength))
    /// `struct ifaddrmsg`
    private static let headerLength = 8

    var index: UInt32
    var prefixLength: UInt8
    /// `RT_SCOPE_*`
    var scope: UInt8
    var address: IPAddress

    init?(_ message: NetlinkMessages.Message) {
        let body = message.body
        guard message.type == Self.type, body.count >= Self.headerLength, let index: UInt32 = body.number(at: 4) else { return nil }
        let family = body[0]
        var local: IPAddress?
        var any: IPAddress?
        for attribute in NetlinkAttributes(body, from: Self.headerLength) {
            switch attribute.type {
            // Of a point-to-point link this is the other end, and the next one ours.
            case 1: any = IPAddress(family: family, attribute.payload)
            case 2: local = IPAddress(family: family, attribute.payload)
            default: break
            }
        }
        guard let address = local ?? any, body[1] <= address.bytes.count * 8 else { return nil }
        self.index = index
        self.address = address
        prefixLength = body[1]
        scope = body[3]
    }

    /// The scope's name; `nil` for one that people made up by number.
    var scopeName: String? {
        switch scope {
        case 0: "global"
        case 200: "site"
        case 253: "link"
        case 254: "host"
        default: nil
        }
    }
}
