/// Why a module cannot be had or an interval cannot be used.
///
/// Expected oddities of a machine (a missing file, a garbled line) are not errors: they make a sample partial.
package struct SampleModuleError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Code: Sendable, Equatable {
        /// No module has this name.
        case unknownModule
        /// The name is reserved, but no such source exists on this platform.
        case notOfferedByPlatform
        /// The name is stable and known, but this version has no such module.
        case notOfferedYet
        /// Not a finite number of seconds between the least and the greatest interval.
        case invalidInterval
    }

    package let code: Code
    /// What was asked, why it cannot be, and what to do instead.
    package let message: String
    package let cause: (any Error)?

    package init(code: Code, message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    package var description: String { message }

    package static func == (left: Self, right: Self) -> Bool {
        left.code == right.code && left.message == right.message
    }
}
