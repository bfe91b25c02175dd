import CollectorAPI
import Foundation
import JSON
import WireModel

/// Makes an enrollment token. Shows, for each way to install the agent, the one line that brings a device to this
/// collector, and the devices that come.
struct AddDevicePage: ConsolePage {
    let path = "/add-device"
    let role = PersonRole.administrator

    /// The number of a token's devices that are shown.
    private static let shownDevices = 100

    func view(_ visit: Visit) async throws -> Answer {
        guard let id = visit.query.text("token") else { return .view(try await form(visit)) }
        guard
            let token = try await visit.api.all(.listTokens, [("kind", "enrollment")]).first(where: {
                $0.id == id
            })
        else {
            throw Problem(
                status: 404, code: .notFound, title: "No such token",
                detail: "You see no enrollment token with this id.")
        }
        return .view(try await page(of: token, lines: nil, visit))
    }

    func perform(_ action: String, _ visit: Visit) async throws -> Outcome? {
        guard action == "create" else { return nil }
        let token = try await visit.api.call(.createToken, body: TokenForm.enrollment(visit.form))
        return .view(try await page(of: token, lines: Self.lines(token, address: visit.form.text("address")), visit))
    }

    private func form(_ visit: Visit) async throws -> View {
        let isFilled = !visit.form.isEmpty
        var values = try await TokenForm.enrollmentChoices(visit)
        values["address"] = .text(visit.form["address"] ?? visit.origin + visit.base)
        values["maximumUses"] = .text(visit.form["maximumUses"] ?? "1")
        values["isUnlimited"] = .boolean(visit.form.isChecked("unlimited"))
        // Behind a proxy that the browser talks to, devices may see the proxy's key.
        values["isPinned"] = .boolean(isFilled ? visit.form.isChecked("pinned") : visit.base.isEmpty)
        return View("add-device", title: "Add devices", values)
    }

    /// - Parameter lines: what to paste; `nil` for a token that was made earlier, whose secret nobody knows.
    private func page(of token: TokenView, lines: JSONValue?, _ visit: Visit) async throws -> View {
        let devices = try await visit.api.call(
            .listDevices,
            [
                ("enrollmentToken", token.id), ("test", "true"), ("sort", "-enrolled"),
                ("limit", "\(Self.shownDevices)"),
            ])
        return View(
            "device-token", title: "Devices that enroll with this token",
            [
                "token": JSONValue.of(token).with(["isGood": .boolean(token.state == "good")]), "lines": lines ?? .null,
                "devices": .of(devices.items), "total": .of(devices.total),
                "newest": devices.items.first.map { .of($0) } ?? .null,
                "hasDevices": .boolean(!devices.items.isEmpty),
                "hasMore": .boolean(devices.next != nil),
                "address": .text("\(visit.base)\(path)?token=\(token.id.percentEncoded)"),
            ])
    }

    /// The lines to paste on a device: one for each package, the container and the library.
    private static func lines(_ token: TokenView, address: String?) -> JSONValue {
        guard let url = token.enrollmentURL else { return .null }
        let isPlain = address?.lowercased().hasPrefix("http:") ?? false
        let host = address.flatMap { URLComponents(string: $0)?.host } ?? ""
        let isLoopback = ["localhost", "[::1]", "::1"].contains(host.lowercased()) || host.hasPrefix("127.")
        // The agent sends credentials in the clear to another machine only if it is told to.
        let isExposed = isPlain && !isLoopback
        let word = APIRequest.quoted(url)
        // Packages and image take the same variables, and keep them where only root reads them.
        let variables = ["WS1_ENROLLMENT=\(word)"] + (isExposed ? ["WS1_ALLOW_PLAINTEXT=true"] : [])
        let environment = variables.joined(separator: " ")
        let swift = """
            var configuration = try DataSamplerConfiguration(
                directory: "/var/lib/kiosk/telemetry", enrollmentURL: "\(url)")
            """
        return [
            "deb": .text("\(environment) apt-get install -y ./ws1agent_*.deb"),
            "rpm": .text("\(environment) dnf install -y ./ws1agent-*.rpm"),
            "tarball": .text("tar -xzf ws1agent-*.tar.gz && \(environment) ws1agent-*/install"),
            "container": .text(
                "docker run -d --restart unless-stopped -v ws1agent:/data"
                    + "\(variables.map { " -e \($0)" }.joined()) ws1agent"),
            "library": .text(swift + (isExposed ? "\nconfiguration.allowsPlaintext = true" : "")),
            "isExposed": .boolean(isExposed), "isPlain": .boolean(isPlain),
            "isPinned": .boolean(token.enrollmentPins ?? 0 > 0),
            "hasAuthority": .boolean(token.enrollmentAuthorities ?? 0 > 0),
            "isLoopback": .boolean(isLoopback),
        ]
    }
}
