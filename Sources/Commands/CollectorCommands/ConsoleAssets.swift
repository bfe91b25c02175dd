import Collector
import Console
import Foundation
import Logging

/// Where the files of the web console are.
struct ConsoleAssets {
    let directory: String

    /// - Parameter configured: the setting `assets`; `nil` for the places where a release has them, found from the
    ///   program's own path: `../share/ws1collector` of an installed program, `share/ws1collector` of one that lies as
    ///   it was built.
    init(_ configured: String?) {
        if let configured {
            directory = configured
        } else {
            let program = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
            let folder = (program as NSString).deletingLastPathComponent
            let places = [(folder as NSString).deletingLastPathComponent, folder].map { $0 + "/share/ws1collector" }
            directory = places.first { FileManager.default.fileExists(atPath: $0) } ?? places[0]
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
