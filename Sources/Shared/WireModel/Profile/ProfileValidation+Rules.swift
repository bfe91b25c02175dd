extension WireProfile {
    func validateCompliance() throws(WireError) {
        try Self.checkCount(compliance.count, "compliance", ProfileLimits.complianceRules)
        var ids: Set<String> = []
        for (place, rule) in compliance.enumerated() {
            let field = "compliance[\(place)]"
            try Self.checkText(rule.id, "\(field).id", 1...ProfileLimits.idBytes)
            guard ids.insert(rule.id).inserted else {
                throw .field("\(field).id", "is a second \"\(rule.id)\"", "one rule per id")
            }
            try Self.checkName(rule.subject, "\(field).subject", ProfileLimits.complianceSubjects)
            switch ComplianceSubject(rawValue: rule.subject) {
            case .applicationVersion, .operatingSystemVersion, nil:
                try Self.checkName(
                    rule.`operator`, "\(field).operator", ComplianceOperator.allCases.map(\.rawValue))
                try Self.checkVersion(rule.version, "\(field).version")
                guard rule.geofence.isEmpty else {
                    throw .field("\(field).geofence", "is given", "none with the subject \(rule.subject)")
                }
            case .location:
                try Self.checkName(rule.`operator`, "\(field).operator", GeofenceSide.expectable.map(\.rawValue))
                guard rule.version.isEmpty else {
                    throw .field("\(field).version", "is given", "none with the subject \(rule.subject)")
                }
                try Self.checkText(rule.geofence, "\(field).geofence", 1...ProfileLimits.idBytes)
            }
            try Self.checkText(rule.action, "\(field).action", 0...ProfileLimits.nameBytes)
            try Self.checkConsequence(rule.consequence, "\(field).consequence")
        }
    }

    /// Versions of packages and systems begin with a digit.
    private static func checkVersion(_ version: String, _ field: String) throws(WireError) {
        let isVersion =
            version.utf8.count <= ProfileLimits.idBytes && version.utf8.first.map { (0x30...0x39).contains($0) } == true
            && version.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                default:
                    [UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "~"), UInt8(ascii: "_")]
                        .contains(byte)
                }
            }
        guard isVersion else {
            throw .field(
                field, "is \"\(version)\"",
                "a version such as 26.3 or 6.1.0-18, at most \(ProfileLimits.idBytes) characters")
        }
    }

    /// Checks that each rule on the location names a geofence of the profile.
    package func validateGeofenceNames() throws(WireError) {
        let known = Set(geofences.map(\.id))
        for (place, rule) in compliance.enumerated() where rule.isOfLocation && !known.contains(rule.geofence) {
            throw .field(
                "compliance[\(place)].geofence", "is \"\(rule.geofence)\"", "the id of one of the profile's geofences")
        }
    }

    func validateGeofences() throws(WireError) {
        try Self.checkCount(geofences.count, "geofences", ProfileLimits.geofences)
        var ids: Set<String> = []
        for (place, fence) in geofences.enumerated() {
            let field = "geofences[\(place)]"
            try Self.checkText(fence.id, "\(field).id", 1...ProfileLimits.idBytes)
            guard ids.insert(fence.id).inserted else {
                throw .field("\(field).id", "is a second \"\(fence.id)\"", "one geofence per id")
            }
            try Self.checkText(fence.name, "\(field).name", 0...ProfileLimits.nameBytes)
            if fence.corners.isEmpty {
                try Self.checkPosition(fence.latitude, fence.longitude, field)
                try Self.check(fence.radiusMeters, "\(field).radiusMeters", ProfileLimits.radiusMeters, "meters")
            } else {
                try fence.validateCorners(field)
            }
            _ = try GeofenceArea(fence, at: field)
        }
    }

    fileprivate static func checkPosition(
        _ latitude: Double, _ longitude: Double, _ field: String
    ) throws(WireError) {
        try check(latitude, "\(field).latitude", -90...90, "degrees")
        try check(longitude, "\(field).longitude", -180...180, "degrees")
    }
}

extension WireGeofence {
    fileprivate func validateCorners(_ field: String) throws(WireError) {
        guard latitude == 0, longitude == 0, radiusMeters == 0 else {
            throw .field(field, "has corners and a centre or a radius", "a circle or a polygon")
        }
        guard ProfileLimits.corners.contains(corners.count) else {
            let range = ProfileLimits.corners
            throw .field(
                "\(field).corners", "has \(corners.count) entries", "\(range.lowerBound) to \(range.upperBound)")
        }
        for (number, corner) in corners.enumerated() {
            try WireProfile.checkPosition(corner.latitude, corner.longitude, "\(field).corners[\(number)]")
        }
    }
}
