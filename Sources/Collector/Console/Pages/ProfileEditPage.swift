import JSON

/// The editor of a profile: a form beside the JSON that it makes, or the JSON itself.
///
/// What is edited stands in the browser alone until it is saved. Each button sends all of it, and the page answers with
/// the other form, with the check, or with the changes to look at before they are saved.
struct ProfileEditPage: Page {
    let path = "/profiles/{organization}/edit"
    let role = Visitor.Role.administrator

    func view(_ visit: Visit) async throws -> Answer {
        let place = ProfilePlace(visit)
        if visit.form.isEmpty {
            let newest = try await visit.newest(place)
            let draft = Draft(
                profile: newest?.value["profile"] ?? .object([:]), tag: newest?.entityTag ?? "",
                base: newest?.value["revision"] ?? .null, json: nil, showsJSON: visit.query["as"] == "json")
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
                return .view(try await conflict(draft, profile, check["changes"], place, visit))
            }
            return .view(try await review(draft, profile, check, place, visit))
        case "save":
            let profile = try draft.whole()
            let check = try await visit.check(profile, place, since: draft.base)
            do throws(APIProblem) { try ProfileRisks(check).requireTyped(in: visit.form) } catch {
                var view = try await review(draft, profile, check, place, visit)
                view.values["refusal"] = [
                    "title": .text(error.title), "detail": .text(error.detail), "code": .text(error.code),
                ]
                return .view(view)
            }
            let answer: JSONValue
            do {
                answer = try await visit.api.answer(
                    to: APIRequest(
                        method: "PUT", path: place.profile, query: FormFields(), body: profile,
                        ifMatch: draft.tag.isEmpty ? nil : draft.tag, ifNoneMatch: draft.tag.isEmpty ? "*" : nil)
                ).value
            } catch let problem as APIProblem where problem.status == 412 {
                return .view(try await conflict(draft, profile, check["changes"], place, visit))
            }
            return .done(
                "Revision \(answer["revision"].renderText) is saved. Devices get it with their next contact.",
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
        /// The number of that revision.
        var base: JSONValue
        /// The profile as it was written, if it was written as JSON.
        var json: String?
        var showsJSON: Bool
        /// Why what was sent is no profile.
        var fault: APIProblem?

        init(profile: JSONValue, tag: String, base: JSONValue, json: String?, showsJSON: Bool) {
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
                profile: .object([:]), tag: form["tag"] ?? "", base: JSONValue(form.text("base")), json: json,
                showsJSON: form["mode"] == "json")
            do throws(APIProblem) {
                if let json {
                    profile = try ProfileJSON.value(json, what: "the JSON")
                } else {
                    profile = try ProfileForm.profile(from: form)
                }
            } catch { fault = error }
        }

        func whole() throws(APIProblem) -> JSONValue {
            if let fault { throw fault }
            return profile
        }

        /// The fields with which a further page sends the profile again.
        func fields(_ profile: JSONValue) -> FormFields {
            var fields: FormFields = [("json", profile.prettyText), ("tag", tag)]
            fields.add("mode", showsJSON ? "json" : "form")
            if base != .null { fields.add("base", base.renderText) }
            return fields
        }
    }

    /// Asks before a profile is saved.
    private func review(
        _ draft: Draft, _ profile: JSONValue, _ check: JSONValue, _ place: ProfilePlace, _ visit: Visit
    ) async throws -> View {
        ProfileReview(
            title: "Save the profile of \(place.name)?", text: "These settings change:", changes: check["changes"],
            check: check, devices: try await visit.affected(place), fields: draft.fields(profile), button: "Save",
            back: nil, place: place
        ).view
    }

    private func editor(_ draft: Draft, _ place: ProfilePlace, _ visit: Visit) async throws -> View {
        var (problem, check) = (draft.fault, JSONValue.null)
        if problem == nil {
            do { check = try await visit.check(draft.profile, place, since: draft.base) } catch let refusal
                as APIProblem
            {
                guard refusal.status == 422 || refusal.status == 400 else { throw refusal }
                problem = refusal
            }
        }
        var inherited: JSONValue?
        if place.application != nil {
            inherited = try await visit.api.get(
                ProfilePlace(organization: place.organization, application: nil).profile)["profile"]
        }
        let changes = ProfileChange.views(check["changes"])
        var values = place.values
        values["showsJSON"] = .boolean(draft.showsJSON)
        values["json"] = .text(draft.showsJSON ? draft.json ?? draft.profile.prettyText : draft.profile.prettyText)
        values["fields"] = ProfileForm.fields(draft.profile, inherited: inherited, invalid: problem?.field)
        values["tag"] = .text(draft.tag)
        values["editedRevision"] = draft.base
        values["problem"] = problem.map { ["title": .text($0.title), "detail": .text($0.detail)] } ?? .null
        values["changes"] = changes
        values["hasChanges"] = .boolean(!changes.items.isEmpty)
        values["findings"] = check["findings"]
        values["risks"] = ProfileRisks(check).values
        values["effective"] = place.application == nil ? .null : check["effective"]
        values["affected"] = try await visit.affected(place)
        values["isNew"] = .boolean(draft.tag.isEmpty)
        return View("profile-edit", title: "Edit the profile of \(place.name)", values)
    }

    /// Somebody else has saved a revision since this one was read: both changes are shown, and nothing is saved.
    /// - Parameter own: what the draft changes in the revision that was edited.
    private func conflict(
        _ draft: Draft, _ profile: JSONValue, _ own: JSONValue, _ place: ProfilePlace, _ visit: Visit
    ) async throws -> View {
        guard let newest = try await visit.newest(place) else { throw APIProblem.noPage }
        var meanwhile = JSONValue.null
        if draft.base != .null {
            meanwhile = try await visit.api.get(
                "\(place.revisions)/diff",
                place.query.with("from", draft.base.renderText).with("to", newest.value["revision"].renderText)
            )["changes"]
        }
        var again = draft
        again.tag = newest.entityTag ?? ""
        again.base = newest.value["revision"]
        func hidden(_ profile: JSONValue) -> JSONValue { again.fields(profile).hidden }
        let theirs = newest.value["profile"]
        var values = place.values
        values["newest"] = newest.value
        values["editedRevision"] = draft.base
        values["meanwhile"] = meanwhile == .null ? .null : ["changes": ProfileChange.views(meanwhile)]
        values["changes"] = ProfileChange.views(own)
        values["hasChanges"] = .boolean(!own.items.isEmpty)
        let merge = ProfileMerge(own: own, theirs: meanwhile)
        values["both"] = .text(merge.both.joined(separator: ", "))
        values["merged"] = draft.base == .null ? .null : ["fields": hidden(merge.merged(into: theirs))]
        values["theirs"] = .text(theirs.prettyText)
        values["mine"] = .text(profile.prettyText)
        values["fields"] = hidden(profile)
        return View("profile-conflict", title: "Somebody else saved this profile", values)
    }
}
