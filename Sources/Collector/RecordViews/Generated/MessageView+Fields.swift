// Written by Tools/generate-wire from Schemas/wire/v1. Do not edit.

extension MessageView {
    /// By the message's name, then by the field's JSON name.
    package static let fields: [String: [String: Field]] = [
        "Beacon": [
            "trigger": .enumeration("BEACON_TRIGGER_"),
            "enrollment": .enumeration("ENROLLMENT_STATE_"),
            "deviceCompliance": .enumeration("COMPLIANCE_"),
            "applicationCompliance": .enumeration("COMPLIANCE_"),
            "compromised": .enumeration("VERDICT_"),
            "findings": .message("Finding"),
            "managed": .enumeration("VERDICT_"),
            "doNotDisturb": .enumeration("VERDICT_"),
            "location": .message("Location"),
            "power": .message("Power"),
            "network": .enumeration("NETWORK_CLASS_"),
            "queue": .message("StreamStatus"),
            "rules": .message("RuleResult"),
            "processStartTime": .time,
            "consent": .enumeration("CONSENT_"),
        ],
        "Finding": [
            "verdict": .enumeration("VERDICT_")
        ],
        "Location": [
            "time": .time
        ],
        "Power": [
            "state": .enumeration("POWER_STATE_")
        ],
        "StreamStatus": [
            "stream": .enumeration("STREAM_"),
            "losses": .message("DropCount"),
        ],
        "DropCount": [
            "reason": .enumeration("DROP_REASON_")
        ],
        "RuleResult": [
            "state": .enumeration("COMPLIANCE_")
        ],
        "CommandResult": [
            "commandId": .identifier,
            "state": .enumeration("COMMAND_STATE_"),
            "deviceInformation": .message("DeviceInformation"),
        ],
        "DeviceInformation": [
            "identity": .message("SystemIdentity")
        ],
        "SystemIdentity": [
            "bootId": .identifier,
            "bootTime": .time,
        ],
        "SystemSample": [
            "identity": .message("SystemIdentity"),
            "power": .message("Power"),
        ],
        "NetworkDataSample": [
            "classes": .message("NetworkClassData"),
            "interfaces": .message("InterfaceData"),
            "roaming": .enumeration("VERDICT_"),
        ],
        "NetworkClassData": [
            "class": .enumeration("NETWORK_CLASS_")
        ],
        "InterfaceData": [
            "class": .enumeration("NETWORK_CLASS_")
        ],
        "NetworkAdapterSample": [
            "adapters": .message("NetworkAdapter")
        ],
        "NetworkAdapter": [
            "class": .enumeration("NETWORK_CLASS_")
        ],
        "GPSSample": [
            "location": .message("Location")
        ],
    ]
}
