import WireModel

/// What OpenTelemetry calls the resource of a record: attributes that tell the machine and the program it comes from.
///
/// Names and values are those of its conventions (Schemas/conventions). What the device does not tell has no attribute.
/// The values are those of stored records, so nothing is in them that the device's profile drops.
package enum ResourceAttributes {
    /// - Parameters:
    ///   - device: the device's id at the collector. It is random, and stays through a new enrollment.
    ///   - identity: what the newest sample says of the machine; `nil` if none does.
    ///   - application: bundle id of the program that made the record.
    package static func of(device: String, identity: WireSystemIdentity?, application: String) -> MetricAttributes {
        // The id names this program on this machine. The machine's own id never leaves it.
        var texts = [
            "service.name": application, "service.instance.id": device, "app.installation.id": device,
            "device.id": device,
        ]
        if let identity {
            let system = identity.operatingSystem
            let (name, identifier) = model(of: identity)
            texts.merge(
                [
                    "host.name": identity.hostName, "host.arch": architecture(system.architecture),
                    "host.cpu.model.name": identity.cpuModel, "os.type": system.name, "os.name": system.distribution,
                    "os.version": system.version, "os.build_id": system.kernel,
                    "device.manufacturer": identity.vendor, "device.model.name": name,
                    "device.model.identifier": identifier,
                ]
            ) { own, _ in own }
        }
        return texts.filter { !$0.value.isEmpty }.mapValues(AttributeValue.text)
    }

    /// The conventions' name for `uname -m`; the kernel's own where they have none.
    private static func architecture(_ machine: String) -> String {
        switch machine {
        case "x86_64": "amd64"
        case "aarch64": "arm64"
        case "i386", "i486", "i586", "i686": "x86"
        case "ppc": "ppc32"
        case "ppc64le": "ppc64"
        case _ where machine.hasPrefix("armv"): "arm32"
        default: machine
        }
    }

    /// Of a Lenovo the device tells both, as `ThinkPad X1 Carbon Gen 12 (21KCS06300)`; of others one text is both.
    private static func model(of identity: WireSystemIdentity) -> (name: String, identifier: String) {
        let model = identity.model
        guard identity.vendor.uppercased() == "LENOVO", model.hasSuffix(")"), let bracket = model.lastIndex(of: "("),
            bracket > model.startIndex
        else { return (model, model) }
        let name = model[..<model.index(before: bracket)]
        return (String(name), String(model[model.index(after: bracket)...].dropLast()))
    }
}

extension WireEvent {
    /// The name of the event as a log record of OpenTelemetry has it. The conventions have none for the events that the
    /// library records itself, so theirs begin with `ws1.`. A program's own event keeps its name.
    package var eventName: String {
        switch type {
        case .launch: "ws1.app.launch"
        case .enrollmentCall: "ws1.enrollment.call"
        case .sdkAction: "ws1.sdk.action"
        case .geofence: "ws1.geofence"
        case .custom, .unspecified, .UNRECOGNIZED: name
        }
    }
}
