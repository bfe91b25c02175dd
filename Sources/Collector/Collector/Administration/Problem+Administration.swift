import CollectorStore
import WireModel

extension Problem {
    static func ofAdministration(_ error: AdministrationError) -> Problem {
        switch error {
        case .notFound(let detail): notFound(detail)
        case .forbidden(let detail): forbidden(detail)
        case .lastAdministrator:
            Problem(
                status: 409, code: .lastAdministrator, title: "Last administrator",
                detail:
                    "Nobody else could take this token's place: it is the last good administrator's. Make another one first."
            )
        case .store(let error): ofStore(error)
        }
    }

    static let confirmationOutdated = Problem(
        status: 409, code: .confirmationOutdated, title: "Confirmation outdated",
        detail: "This is not what would be deleted now. Ask again without `confirm`, and confirm what that tells.")
}
