import JSON

/// One profile: what it says, who runs it, and its revisions.
struct ProfilePage: Page {
    let path = "/profiles/{organization}"

    private static let revisionsPerPage = "50"

    func view(_ visit: Visit) async throws -> Answer {
        let place = ProfilePlace(visit)
        let newest = try await visit.newest(place)
        if let revision = visit.query.text("rollback") {
            return .view(try await rollbackQuestion(revision, newest, place, visit))
        }
        var values = place.values
        values["newest"] = newest?.value ?? .null
        values["affected"] = try await visit.affected(place)
        values["adoption"] = try await adoption(place, visit)
        values["comparison"] = try await comparison(place, visit)
        values["shown"] = try await shown(newest?.value, place, visit)
        if place.application != nil {
            values["effective"] = try await visit.api.get(place.profile, [("effective", "true")])["profile"]
        }
        let revisions = try await visit.api.get(
            place.revisions,
            (place.application == nil ? place.query.with("own", "true") : place.query).with("brief", "true")
                .with("limit", Self.revisionsPerPage).with("cursor", visit.query["cursor"]))
        values["revisions"] = .array(
            revisions.pageItems.map {
                $0.with([
                    "isNewest": .boolean($0["revision"] == newest?.value["revision"]),
                    "query": .text(place.query.encoded.isEmpty ? "" : "&" + place.query.encoded),
                ])
            })
        values["hasRevisions"] = .boolean(!revisions.pageItems.isEmpty)
        values["more"] = revisions.more(at: visit)
        return .view(View("profile", title: "Profile of \(place.name)", values))
    }

    func perform(_ action: String, _ visit: Visit) async throws -> Outcome? {
        guard action == "rollback" else { return nil }
        let place = ProfilePlace(visit)
        guard let revision = try visit.form.integer("revision", label: "The revision") else { return nil }
        let check = try await check(revision: revision.renderText, place, visit)
        try ProfileRisks(check).requireTyped(in: visit.form)
        var body: [String: JSONValue] = ["revision": revision]
        if let application = place.application { body["application"] = .text(application) }
        let made = try await visit.api.send(
            "POST", "\(place.revisions)/rollback", body: .object(body), ifMatch: visit.form.text("tag"))
        return .done(
            "Revision \(made["revision"].renderText) has what revision \(revision.renderText) had. "
                + "Devices get it with their next contact.",
            at: place.address())
    }

    // MARK: -

    /// Each group of devices that run the same revision, and what they do not apply.
    private func adoption(_ place: ProfilePlace, _ visit: Visit) async throws -> JSONValue {
        let items = try await visit.api.get("\(place.revisions)/adoption").pageItems.filter {
            place.application == nil || $0["application"].text == place.application
        }
        let total = ProfileAdoption(items)
        let rows = items.map { item in
            let devices = item["devices"].number ?? 0
            return item.with([
                "isNewest": .boolean(item["revision"] != .null && item["revision"] == item["newestRevision"]),
                "share": .real(total.devices == 0 ? 0 : devices / Double(total.devices)),
                "devicesAddress": .text(
                    place.devices.with("application", item["application"].text ?? "none").with(
                        "profileRevision", item["revision"] == .null ? "none" : item["revision"].renderText
                    ).address("/devices")),
            ])
        }
        return total.values.with(["rows": .array(rows)])
    }

    /// The differences that were asked for; null if none were.
    private func comparison(_ place: ProfilePlace, _ visit: Visit) async throws -> JSONValue {
        let asked = visit.query.only(["from", "to"])
        guard !asked.isEmpty else { return .null }
        var query = place.query
        for field in asked.fields { query.add(field.name, field.value) }
        let diff = try await visit.api.get("\(place.revisions)/diff", query)
        let changes = ProfileChange.views(diff["changes"])
        return diff.with(["changes": changes, "hasChanges": .boolean(!changes.items.isEmpty)])
    }

    /// The newest revision, or the one that was asked for.
    private func shown(_ newest: JSONValue?, _ place: ProfilePlace, _ visit: Visit) async throws -> JSONValue {
        guard let revision = visit.query.text("revision") else { return newest ?? .null }
        return try await visit.api.get(place.profile, [("revision", revision)])
    }

    /// Checks what an earlier revision would do now.
    private func check(revision: String, _ place: ProfilePlace, _ visit: Visit) async throws -> JSONValue {
        let former = try await visit.api.get(place.profile, [("revision", revision)])
        return try await visit.check(former["profile"], place)
    }

    private func rollbackQuestion(
        _ revision: String, _ newest: (value: JSONValue, entityTag: String?)?, _ place: ProfilePlace, _ visit: Visit
    ) async throws -> View {
        guard let newest else { throw APIProblem.noPage }
        let diff = try await visit.api.get(
            "\(place.revisions)/diff",
            place.query.with("from", newest.value["revision"].renderText).with("to", revision))
        return ProfileReview(
            title: "Roll back to revision \(revision)?",
            text: "A new revision gets the content of revision \(revision). These settings change:",
            changes: diff["changes"], check: try await check(revision: revision, place, visit),
            devices: try await visit.affected(place),
            fields: [
                ("action", "rollback"), ("revision", revision), ("tag", newest.entityTag ?? ""),
            ], button: "Roll back", back: place.address(), place: place
        ).view
    }
}

/// A page that shows what a change does before it is made.
struct ProfileReview {
    var title: String
    var text: String
    /// The changes as the API lists them.
    var changes: JSONValue
    /// The answer to the profile that was tried out, with its findings and risks.
    var check: JSONValue
    /// The number of devices that the change reaches.
    var devices: JSONValue
    /// The fields that the button sends.
    var fields: FormFields
    var button: String
    /// Where the way back leads; `nil` if a second button leads there, which sends the fields too.
    var back: String?
    var place: ProfilePlace

    var view: View {
        let risks = ProfileRisks(check)
        return View(
            "profile-review", title: title,
            place.values.merging([
                "text": .text(text), "changes": ProfileChange.views(changes),
                "hasChanges": .boolean(!changes.items.isEmpty), "findings": check["findings"],
                "risks": risks.values, "typed": JSONValue(risks.typed), "affected": devices,
                "fields": .array(fields.fields.map { ["name": .text($0.name), "value": .text($0.value)] }),
                "button": .text(button), "back": JSONValue(back),
            ]) { $1 })
    }
}
