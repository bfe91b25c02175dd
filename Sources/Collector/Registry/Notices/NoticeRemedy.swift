extension NoticeRow.Code {
    /// The section of Documentation/runbook.md that says what it means and what to do, as an anchor.
    package var runbook: String {
        switch self {
        case .brokerUnreachable: "a-broker-that-cannot-be-reached"
        case .certificateExpiry: "an-expired-certificate"
        case .deviceCompromised, .deviceNonCompliant: "a-compromised-device-or-a-broken-rule"
        case .deviceReplaced: "a-replaced-or-reinstalled-device"
        case .deviceSilent, .devicesSilent: "a-silent-device"
        case .diskLow: "a-full-disk-at-the-collector"
        case .forwardFailing: "an-endpoint-that-takes-no-records"
        case .identityConflict: "a-cloned-device"
        case .queueDamaged: "a-damaged-queue"
        case .recordFile, .recordFileSalvaged: "a-damaged-record-file"
        case .retentionWaiting: "a-wrong-clock"
        case .logQuotaHigh, .logQuotaReached, .logsArrived, .recordQuotaHigh, .recordQuotaReached, .recordsLost,
            .retentionFailed, .tokenExpiry, .uploadExpired:
            "notices-of-the-collector"
        }
    }

    /// The remedy, in a sentence or two.
    package var remedy: String {
        switch self {
        case .logQuotaHigh: "Delete logs that nobody needs, or raise the quota."
        case .logQuotaReached:
            "Delete logs that nobody needs, or raise the quota. Until then devices keep further logs."
        case .logsArrived: "Read them in App Logs. The notice ends by itself after a day."
        case .uploadExpired: "Request the logs again. What came is kept."
        case .recordQuotaHigh: "Look for what the device or the organization sends so much of, or raise the quota."
        case .recordQuotaReached:
            "Look for what is sent so much, or raise the quota. Until tomorrow (UTC) devices keep further records."
        case .diskLow: "Free disk space, add more, or keep records and logs for less time."
        case .retentionWaiting: "Check the collector's clock, then release retention."
        case .retentionFailed: "Mend what the text names, mostly the disk or permissions."
        case .recordsLost:
            "Expected after the restore of a backup. Otherwise look for a record file that was damaged and replaced."
        case .queueDamaged: "Check the device's disk. The agent has replaced the queue and goes on by itself."
        case .deviceReplaced:
            "If it is the same device, make the former one its predecessor and revoke the former one."
        case .recordFile: "Check the disk, then replace the file from a backup if the collector could not."
        case .recordFileSalvaged: "Check the disk. The text says what was kept and what was lost."
        case .identityConflict: "Find out whether the device was copied. If so, give the copy an identity of its own."
        case .certificateExpiry: "Renew the certificate that the text names."
        case .brokerUnreachable: "Look at the broker, and at the network and the credentials on the way to it."
        case .forwardFailing:
            "Look at the endpoint that the text names, and at the network and the token on the way to it."
        case .tokenExpiry: "Create a new token with the command in the text."
        case .deviceSilent: "Look at what the device last said, then at its network and power. Delete it if it is gone."
        case .devicesSilent:
            "Look at what lies between the devices and the collector: network, DNS, certificate, firewall."
        case .deviceCompromised: "Look at the evidence on the device's page, and mend what it names."
        case .deviceNonCompliant: "Mend what the rules in the text ask for, or change the profile's rules."
        }
    }
}
