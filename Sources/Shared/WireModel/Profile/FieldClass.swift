/// The kind of personal data in a field, as far as a profile decides on it. The raw values are the names in profiles
/// and configuration files and never change.
///
/// What the actions mean for each class, and what holds where neither the profile nor a local setting decides:
///
/// | class         | fields                                           | default | hash                   | coarsen                                   |
/// |---------------|--------------------------------------------------|---------|------------------------|-------------------------------------------|
/// | `technical`   | all that says nothing of a person; always sent   | send    | -                      | -                                         |
/// | `device-name` | device name, host name                           | send    | keyed hash             | the domain of a full name, else dropped   |
/// | `user`        | e-mail, full and display name                    | send    | keyed hash             | e-mail: its domain; names: initials       |
/// | `ssid`        | network name                                     | drop    | keyed hash             | dropped                                   |
/// | `bssid`       | access point                                     | drop    | keyed hash             | its maker (first three bytes)             |
/// | `mac`         | hardware addresses, also those inside interface names (`enx...`) and IPv6 addresses | send | keyed hash | its maker (first three bytes) |
/// | `ip-address`  | own addresses, gateways, name servers            | send    | keyed hash             | IPv4 to its /24, IPv6 to its /48          |
/// | `position`    | latitude, longitude, altitude, speed, course     | drop    | dropped                | a grid of 0.01 degrees (1.1 km); no height, speed, course |
/// | `event`       | values and attributes of events                  | send    | text: keyed hash; others dropped | text dropped, numbers to two digits, dates to the UTC day |
/// | `custom`      | attributes of custom measurements, values as text | send   | keyed hash             | dropped                                   |
/// | `path`        | mount points and their devices                   | send    | keyed hash             | the first component                       |
/// | `detail`      | evidence, results and information in words       | send    | keyed hash             | dropped                                   |
///
/// A hash needs the organization's key; without one it is a drop. Numbers and positions have too few values to be
/// hidden by a hash: for them it is a drop, too. Names of events and measurements, and keys of attributes, are chosen
/// by the program's author: technical. Values of measurements are, unless they are text, figures of the program:
/// technical.
package enum FieldClass: String, CaseIterable, Hashable, Sendable {
    case technical
    case deviceName = "device-name"
    case user
    case ssid
    case bssid
    case mac
    case ipAddress = "ip-address"
    case position
    case event
    case custom
    case path
    case detail

    /// Classes that a profile or a configuration file may name.
    package static let decidable = allCases.filter { $0 != .technical }
}
