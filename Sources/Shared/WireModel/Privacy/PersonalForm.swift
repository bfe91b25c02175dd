/// How a personal value is written, which decides what a coarse one is.
package enum PersonalForm: Sendable {
    /// Words: there is nothing between all and none of them.
    case text
    case hostName
    case email
    case personName
    /// Six bytes in hexadecimal.
    case macAddress
    /// The name of a network interface, which may end in a hardware address; any other name is technical.
    case interfaceName
    case ipAddress
    case path
    /// A double, in degrees.
    case degrees
    /// A number (or truth value) that is dropped unless it may be sent as it is.
    case figure
    /// Numbers whose size may be told: two digits of them.
    case roundedInteger
    case roundedReal
    /// Microseconds since 1970.
    case date
    /// Yes or no: as coarse as can be.
    case flag
}
