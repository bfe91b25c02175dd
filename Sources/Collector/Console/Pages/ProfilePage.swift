import CollectorAPI
import JSON
import WireModel

/// One profile: what it says, who runs it, and its revisions.
struct ProfilePage: ConsolePage {
    let path = "/profiles/{organization}"

    private static let revisionsPerPage = "50"

    func view(_ visit: Visit) async throws -> Answer {
        let place = ProfilePlace(visit)
        let newest = try await visit.newest(place)
        if let revision = visit.query.text("rollback") {
            return .view(try await rollbackQuestion(revision, newest, place, visit))
        }
        var values = place.values
        values["newest"] = .of(newest?.answer)
        values["affected"] = try await visit.affected(place)
        values["adoption"] = try await adoption(place, visit)
        values["comparison"] = try await comparison(place, visit)
        values["shown"] = try await shown(newest?.answer, place, visit)
        if place.application != nil {
            values["effective"] = try await visit.api.call(place.read, [("effective", "true")]).profile
        }
        let revisions = try await visit.api.call(
            .listProfileRevisions(place.organization),
            (place.application == nil ? place.query.with("own", "true") : place.query).with("brief", "true")
                .with("limit", Self.revisionsPerPage).with("cursor", visit.query["cursor"]))
        values["revisions"] = .array(
            revisions.items.map {
                JSONValue.of($0).with([
                    "isNewest": .boolean($0.revision == newest?.answer.revision),
                    "query": .text(place.query.encoded.isEmpty ? "" : "&" + place.query.encoded),
                ])
            })
        values["hasRevisions"] = .boolean(!revisions.items.isEmpty)
        values["more"] = visit.more(revisions.next)
        return .view(View("profile", title: "Profile of \(place.name)", values))
    }

    func perform(_ action: String, _ visit: Visit) async throws -> Outcome? {
        guard action == "rollback" else { return nil }
        let place = ProfilePlace(visit)
        guard let revision = try visit.form.integer("revision", label: "The revision") else { return nil }
        let check = try await check(revision: revision.renderText, place, visit)
        try ProfileRisks(check.risks).requireTyped(in: visit.form)
        var body: [String: JSONValue] = ["revision": revision]
        if let application = place.application { body["application"] = .text(application) }
        let made = try await visit.api.call(
            .rollBackProfile(place.organization), body: .object(body), ifMatch: visit.form.text("tag"))
        return .done(
            "Revision \(made.revision) has what revision \(revision.renderText) had. "
                + "Devices get it with their next contact.",
            at: place.address())
    }

    // MARK: -

    /// Each group of devices that run the same revision, and what they do not apply.
    private func adoption(_ place: ProfilePlace, _ visit: Visit) async throws -> JSONValue {
        let items = try await visit.api.call(.profileAdoption(place.organization)).items.filter {
            place.application == nil || $0.application == place.application
        }
        let total = ProfileAdoption(items)
        let rows = items.map { item in
            JSONValue.of(item).with([
                "isNewest": .boolean(item.isNewest),
                "share": .real(total.devices == 0 ? 0 : Double(item.devices) / Double(total.devices)),
                "devicesAddress": .text(
                    place.devices.with("application", item.application ?? "none").with(
                        "profileRevision", item.revision.map { "\($0)" } ?? "none"
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
        let diff = try await visit.api.call(.diffProfiles(place.organization), query)
        return JSONValue.of(diff).with([
            "changes": ProfileChangeView.values(of: diff.changes), "hasChanges": .boolean(!diff.changes.isEmpty),
        ])
    }

    /// The newest revision, or the one that was asked for.
    private func shown(_ newest: ProfileView?, _ place: ProfilePlace, _ visit: Visit) async throws -> JSONValue {
        guard let revision = visit.query.text("revision") else { return .of(newest) }
        return .of(try await visit.api.call(place.read, [("revision", revision)]))
    }

    /// Checks what an earlier revision would do now.
    private func check(
        revision: String, _ place: ProfilePlace, _ visit: Visit
    ) async throws -> ProfileValidationView {
        let former = try await visit.api.call(place.read, [("revision", revision)])
        return try await visit.check(former.profile ?? .null, place)
    }

    private func rollbackQuestion(
        _ revision: String, _ newest: (answer: ProfileView, entityTag: String?)?, _ place: ProfilePlace, _ visit: Visit
    ) async throws -> View {
        guard let newest else { throw Problem.noPage }
        let diff = try await visit.api.call(
            .diffProfiles(place.organization),
            place.query.with("from", "\(newest.answer.revision)").with("to", revision))
        return ProfileReview(
            title: "Roll back to revision \(revision)?",
            text: "A new revision gets the content of revision \(revision). These settings change:",
            changes: diff.changes, check: try await check(revision: revision, place, visit),
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
    var changes: [ProfileChangeView]
    /// The answer to the profile that was tried out, with its findings and risks.
    var check: ProfileValidationView
    /// The number of devices that the change reaches.
    var devices: JSONValue
    /// The fields that the button sends.
    var fields: FormFields
    var button: String
    /// Where the way back leads; `nil` if a second button leads there, which sends the fields too.
    var back: String?
    var place: ProfilePlace

    var view: View {
        let risks = ProfileRisks(check.risks)
        return View(
            "profile-review", title: title,
            place.values.merging([
                "text": .text(text), "changes": ProfileChangeView.values(of: changes),
                "hasChanges": .boolean(!changes.isEmpty), "findings": .of(check.findings),
                "risks": risks.values, "typed": JSONValue(risks.typed), "affected": devices,
                "fields": .array(fields.fields.map { ["name": .text($0.name), "value": .text($0.value)] }),
                "button": .text(button), "back": JSONValue(back),
            ]) { $1 })
    }
}
