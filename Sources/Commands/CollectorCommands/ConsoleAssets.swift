import Collector
import Console
import Foundation
import Logging

/// Where the files of the web console are.
struct ConsoleAssets {
    let directory: String

    /// - Parameter configured: the setting `assets`; `nil` for the place where a release has them, found from the
    ///   program's own path.
    init(_ configured: String?) {
        if let configured {
            directory = configured
        } else {
            let program = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
            let folder = (program as NSString).deletingLastPathComponent
            directory = (folder as NSString).deletingLastPathComponent + "/share/ws1collector"
        }
    }

    /// - Returns: `nil` if they cannot be used. Devices are served all the same.
    func console(logger: Logger) -> Console? {
        do throws(Assets.Fault) {
            return Console(assets: try Assets(directory: directory), version: CollectorVersion.current)
        } catch {
            logger.warning("no web console", metadata: ["assets": "\(directory)", "error": "\(error)"])
            return nil
        }
    }
}
