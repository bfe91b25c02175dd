import Foundation
import Synchronization

/// A data folder that initdb has made once for this process. Each server starts on a copy.
enum PostgresTemplate {
    private static let made = Mutex<Result<String, any Error>?>(nil)

    /// Copies the data folder to `path`, which must not be there. Blocks.
    static func copy(to path: String) throws {
        let template = try made.withLock { made in
            if let made { return try made.get() }
            let result = Result { try make() }
            made = result
            return try result.get()
        }
        try PostgresPrograms.run(PostgresPrograms.prefix + ["/bin/cp", "-a", template, path])
    }

    private static func make() throws -> String {
        let folder = "\(NSTemporaryDirectory())ws1-postgres-template-\(getpid())-\(UUID().uuidString)"
        try PostgresPrograms.makeFolder(folder)
        let data = "\(folder)/data"
        try PostgresPrograms.run(
            PostgresPrograms.command(
                "initdb",
                [
                    "--pgdata", data, "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C",
                    "--no-sync", "--no-instructions",
                ]))
        // Goes with the process, also after a crash.
        try PostgresProcess.removeWithThisProcess(folder)
        return data
    }
}
