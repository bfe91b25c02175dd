/// From when to when a certificate is good; microseconds since 1970.
package struct CertificateLife: Equatable, Sendable {
    package var begins: Int64
    package var ends: Int64

    package init(begins: Int64, ends: Int64) {
        self.begins = begins
        self.ends = ends
    }

    /// From then on, with a third of its life left, it is renewed.
    package var renewal: Int64 { ends - max(0, ends - begins) / 3 }
}
