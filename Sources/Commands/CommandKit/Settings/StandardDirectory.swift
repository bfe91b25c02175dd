/// The data directories that our programs use where neither `--data`, `WS1_DATA` nor the configuration file names one.
/// The packages and units keep their data there, so that a command asks the service of this machine by itself.
package enum StandardDirectory {
    package static let agent = "/var/lib/ws1agent"
    package static let collector = "/var/lib/ws1collector"
}
