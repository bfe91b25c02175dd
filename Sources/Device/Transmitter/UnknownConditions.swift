import WireModel

/// Nothing is known of the device: no rule about what cannot be told closes a gate.
package struct UnknownConditions: ConditionsSource {
    package init() {}

    package func current() -> DeviceConditions { DeviceConditions() }
}
