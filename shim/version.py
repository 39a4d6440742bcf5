"""The one version of the project; the packaging, the daemon and the hello read it here."""

VERSION = "0.1.0"
