/// The kind of personal data in a field, as far as a profile decides on it. The raw values are the names in profiles
/// and configuration files and never change.
///
/// A profile decides for each class: send, drop, hash or coarsen. The list names the fields of each class and what
/// `coarsen` leaves of them. Where neither the profile nor a local setting decides, the field is sent, unless the list
/// says "dropped by default". `hash` is a keyed hash, unless the list says otherwise.
///
/// - `technical`: all that says nothing of a person. It is always sent.
/// - `device-name`: device name, host name. Coarsened: the domain of a full name, else dropped.
/// - `user`: e-mail, full and display name. Coarsened: the domain of the e-mail, the initials of names.
/// - `ssid`: network name. Dropped by default. Coarsened: dropped.
/// - `bssid`: access point. Dropped by default. Coarsened: its maker (first three bytes).
/// - `mac`: hardware addresses, also those inside interface names (`enx...`) and IPv6 addresses. Coarsened: the maker
///   (first three bytes).
/// - `ip-address`: own addresses, gateways, name servers. Coarsened: IPv4 to its /24, IPv6 to its /48.
/// - `position`: latitude, longitude, altitude, speed, course. Dropped by default. Hash: dropped. Coarsened: a grid of
///   0.01 degrees (1.1 km) without height, speed and course.
/// - `event`: values and attributes of events. Hash: texts get a keyed hash, others are dropped. Coarsened: texts are
///   dropped, numbers keep two digits, dates the UTC day.
/// - `custom`: attributes of custom measurements, values as text. Coarsened: dropped.
/// - `path`: mount points and their devices. Coarsened: the first component.
/// - `detail`: evidence, results and information in words. Coarsened: dropped.
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
