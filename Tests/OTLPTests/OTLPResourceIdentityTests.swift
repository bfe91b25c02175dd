import OTLP
import Testing

@Suite struct OTLPResourceIdentityTests {
    private func identity(_ attributes: [OTLPKeyValue]) -> OTLPResourceIdentity {
        var resource = OTLPResource()
        resource.attributes = attributes
        return OTLPResourceIdentity(resource)
    }

    @Test func `A host is the same whatever else the resource says`() {
        let one = identity([Sample.attribute("host.id", "h"), Sample.attribute("service.instance.id", "i")])
        #expect(one.rule == .host)
        #expect(one == identity([Sample.attribute("os.type", "linux"), Sample.attribute("host.id", "h")]))
        #expect(one != identity([Sample.attribute("host.id", "H")]))
    }

    @Test func `An instance of a service is one with its name and namespace`() {
        func instance(_ namespace: String, _ name: String, _ id: String) -> OTLPResourceIdentity {
            identity([
                Sample.attribute("service.name", name), Sample.attribute("service.instance.id", id),
                Sample.attribute("service.namespace", namespace), Sample.attribute("process.pid", id),
            ])
        }
        #expect(instance("a", "b", "c").rule == .serviceInstance)
        #expect(instance("a", "b", "c") == instance("a", "b", "c"))
        let others = [
            instance("ab", "", "c"), instance("a", "bc", ""), instance("a", "b", "d"), instance("", "ab", "c"),
        ]
        #expect(Set(others + [instance("a", "b", "c")]).count == 5, "no two lists of parts are the same")
    }

    @Test func `Other resources are all their lasting attributes, in any order`() {
        let attributes = [
            Sample.attribute("service.name", "s"), Sample.attribute("k8s.pod.name", "p"),
            Sample.attribute("list", Sample.value { $0.arrayValue.values = [Sample.value { $0.intValue = 1 }] }),
        ]
        let changing = [Sample.attribute("process.pid", "1"), Sample.attribute("telemetry.sdk.version", "2")]
        let one = identity(attributes)
        #expect(one.rule == .attributes)
        #expect(one == identity(attributes.reversed() + changing))
        #expect(one != identity(Array(attributes.dropLast())))
        #expect(one != identity(attributes + [Sample.attribute("process")]), "the name alone is no namespace")
        #expect(identity([]) == identity(changing))
    }

    @Test func `An identifier that is empty or no text identifies nothing`() {
        #expect(identity([Sample.attribute("host.id", "")]).rule == .attributes)
        #expect(identity([Sample.attribute("host.id", Sample.value { $0.intValue = 1 })]).rule == .attributes)
        #expect(
            identity([Sample.attribute("host.id", ""), Sample.attribute("service.instance.id", "i")]).rule
                == .serviceInstance)
    }

    @Test func `Rules do not meet`() {
        let values = [
            identity([Sample.attribute("host.id", "x")]), identity([Sample.attribute("service.instance.id", "x")]),
            identity([Sample.attribute("other", "x")]),
        ]
        #expect(Set(values).count == 3)
    }
}
