import CollectorAPI
import JSON
import WireModel

/// The editor of a profile: a form beside the JSON that it makes, or the JSON itself.
///
/// What is edited stands in the browser alone until it is saved. Each button sends all of it, and the page answers with
/// the other form, with the check, or with the changes to look at before they are saved.
struct ProfileEditPage: ConsolePage {
    let path = "/profiles/{organization}/edit"
    let role = PersonRole.administrator

    func view(_ visit: Visit) async throws -> Answer {
        let place = ProfilePlace(visit)
        if visit.form.isEmpty {
            let newest = try await visit.newest(place)
            let draft = Draft(
                profile: newest?.answer.profile ?? .object([:]), tag: newest?.entityTag ?? "",
                base: newest.map { "\($0.answer.revision)" }, json: nil, showsJSON: visit.query["as"] == "json")
            return .view(try await editor(draft, place, visit))
        }
        // A refused form.
        return .view(try await editor(Draft(sent: visit.form), place, visit))
    }

    func perform(_ action: String, _ visit: Visit) async throws -> Outcome? {
        let place = ProfilePlace(visit)
        var draft = Draft(sent: visit.form)
        switch action {
        case "validate", "edit": return .view(try await editor(draft, place, visit))
        case "to-form", "to-json":
            // JSON that cannot be read cannot be shown in the form.
            draft.showsJSON = action == "to-json" || draft.fault != nil
            return .view(try await editor(draft, place, visit))
        case "review":
            let profile = try draft.whole()
            let check = try await visit.check(profile, place, since: draft.base)
            // Whoever reviews would otherwise learn of the other revision only after that.
            guard try await visit.newest(place)?.entityTag ?? "" == draft.tag else {
                return .view(try await conflict(draft, profile, check.changes, place, visit))
            }
            return .view(try await review(draft, profile, check, place, visit))
        case "save":
            let profile = try draft.whole()
            let check = try await visit.check(profile, place, since: draft.base)
            do throws(Problem) { try ProfileRisks(check.risks).requireTyped(in: visit.form) } catch {
                var view = try await review(draft, profile, check, place, visit)
                view.values["refusal"] = [
                    "title": .text(error.title), "detail": JSONValue(error.detail), "code": .text(error.code),
                ]
                return .view(view)
            }
            let saved: ProfileView
            do {
                saved = try await visit.api.call(
                    place.put, body: profile, ifMatch: draft.tag.isEmpty ? nil : draft.tag,
                    ifNoneMatch: draft.tag.isEmpty ? "*" : nil)
            } catch let problem as Problem where problem.status == 412 {
                return .view(try await conflict(draft, profile, check.changes, place, visit))
            }
            return .done(
                "Revision \(saved.revision) is saved. Devices get it with their next contact.",
                at: place.address())
        default: return nil
        }
    }

    // MARK: -

    /// A profile that is being edited.
    private struct Draft {
        var profile: JSONValue
        /// The entity tag of the revision that was edited; empty if there was none.
        var tag: String
        /// The number of that revision; `nil` if there was none.
        var base: String?
        /// The profile as it was written, if it was written as JSON.
        var json: String?
        var showsJSON: Bool
        /// Why what was sent is no profile.
        var fault: Problem?

        init(profile: JSONValue, tag: String, base: String?, json: String?, showsJSON: Bool) {
            self.profile = profile
            self.tag = tag
            self.base = base
            self.json = json
            self.showsJSON = showsJSON
        }

        /// - Parameter form: the editor's, with the fields or with the JSON.
        init(sent form: FormFields) {
            let json = form["json"]
            self.init(
                profile: .object([:]), tag: form["tag"] ?? "", base: form.text("base"), json: json,
                showsJSON: form["mode"] == "json")
            do throws(Problem) {
                if let json {
                    profile = try ProfileJSON.value(json, what: "the JSON")
                } else {
                    profile = try ProfileForm.profile(from: form)
                }
            } catch { fault = error }
        }

        func whole() throws(Problem) -> JSONValue {
            if let fault { throw fault }
            return profile
        }

        /// The fields with which a further page sends the profile again.
        func fields(_ profile: JSONValue) -> FormFields {
            var fields: FormFields = [("json", profile.prettyText), ("tag", tag)]
            fields.add("mode", showsJSON ? "json" : "form")
            fields.add("base", base)
            return fields
        }
    }

    /// Asks before a profile is saved.
    private func review(
        _ draft: Draft, _ profile: JSONValue, _ check: ProfileValidationView, _ place: ProfilePlace, _ visit: Visit
    ) async throws -> View {
        ProfileReview(
            title: "Save the profile of \(place.name)?", text: "These settings change:", changes: check.changes,
            check: check, devices: try await visit.affected(place), fields: draft.fields(profile), button: "Save",
            back: nil, place: place
        ).view
    }

    private func editor(_ draft: Draft, _ place: ProfilePlace, _ visit: Visit) async throws -> View {
        var (problem, check) = (draft.fault, ProfileValidationView?.none)
        if problem == nil {
            do { check = try await visit.check(draft.profile, place, since: draft.base) } catch let refusal
                as Problem
            {
                guard refusal.status == 422 || refusal.status == 400 else { throw refusal }
                problem = refusal
            }
        }
        var inherited: JSONValue?
        if place.application != nil {
            inherited = try await visit.api.call(.getProfile(place.organization)).profile
        }
        let changes = check?.changes ?? []
        var values = place.values
        values["showsJSON"] = .boolean(draft.showsJSON)
        values["json"] = .text(draft.showsJSON ? draft.json ?? draft.profile.prettyText : draft.profile.prettyText)
        values["fields"] = ProfileForm.fields(draft.profile, inherited: inherited, invalid: problem?.field)
        values["tag"] = .text(draft.tag)
        values["editedRevision"] = JSONValue(draft.base)
        values["problem"] = problem.map { ["title": .text($0.title), "detail": JSONValue($0.detail)] } ?? .null
        values["changes"] = ProfileChangeView.values(of: changes)
        values["hasChanges"] = .boolean(!changes.isEmpty)
        values["findings"] = .of(check?.findings)
        values["risks"] = ProfileRisks(check?.risks ?? []).values
        values["effective"] = place.application == nil ? .null : check?.effective ?? .null
        values["affected"] = try await visit.affected(place)
        values["isNew"] = .boolean(draft.tag.isEmpty)
        return View("profile-edit", title: "Edit the profile of \(place.name)", values)
    }

    /// Somebody else has saved a revision since this one was read: both changes are shown, and nothing is saved.
    /// - Parameter own: what the draft changes in the revision that was edited.
    private func conflict(
        _ draft: Draft, _ profile: JSONValue, _ own: [ProfileChangeView], _ place: ProfilePlace, _ visit: Visit
    ) async throws -> View {
        guard let newest = try await visit.newest(place) else { throw Problem.noPage }
        var meanwhile: [ProfileChangeView]?
        if let base = draft.base {
            meanwhile = try await visit.api.call(
                .diffProfiles(place.organization),
                place.query.with("from", base).with("to", "\(newest.answer.revision)")
            ).changes
        }
        var again = draft
        again.tag = newest.entityTag ?? ""
        again.base = "\(newest.answer.revision)"
        func hidden(_ profile: JSONValue) -> JSONValue { again.fields(profile).hidden }
        let theirs = newest.answer.profile ?? .null
        var values = place.values
        values["newest"] = .of(newest.answer)
        values["editedRevision"] = JSONValue(draft.base)
        values["meanwhile"] = meanwhile.map { ["changes": ProfileChangeView.values(of: $0)] } ?? .null
        values["changes"] = ProfileChangeView.values(of: own)
        values["hasChanges"] = .boolean(!own.isEmpty)
        let merge = ProfileMerge(own: own, theirs: meanwhile ?? [])
        values["both"] = .text(merge.both.joined(separator: ", "))
        values["merged"] = draft.base == nil ? .null : ["fields": hidden(merge.merged(into: theirs))]
        values["theirs"] = .text(theirs.prettyText)
        values["mine"] = .text(profile.prettyText)
        values["fields"] = hidden(profile)
        return View("profile-conflict", title: "Somebody else saved this profile", values)
    }
}
