//go:build unix && !linux

package pgtest

// parentFolder is where the folder of a test server is best; empty is the system's
// temporary folder.
func parentFolder() string { return "" }
