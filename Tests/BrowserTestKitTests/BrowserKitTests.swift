import BrowserTestKit
import Testing

/// All tests with a browser, one after the other. The files beside this one extend it.
@Suite(.serialized, .browser) enum BrowserKitTests {}
