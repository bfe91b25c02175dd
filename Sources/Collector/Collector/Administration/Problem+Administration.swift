import Registry
import WireModel

extension Problem {
    static func ofAdministration(_ error: AdministrationError) -> Problem {
        switch error {
        case .notFound(let detail): notFound(detail)
        case .forbidden(let detail): forbidden(detail)
        case .lastAdministrator:
            Problem(
                status: 409, code: .lastAdministrator, title: "Last administrator",
                detail: "This is the last valid administrator's token. Create another one first.")
        case .store(let error): ofStore(error)
        }
    }

    static let confirmationOutdated = Problem(
        status: 409, code: .confirmationOutdated, title: "Confirmation outdated",
        detail: "The selection has changed meanwhile. Ask again without `confirm`, then confirm the answer.")
}
