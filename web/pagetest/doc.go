// Package pagetest drives the three pages as people do, in a real Chromium
// against a real server: it starts browsers, presses buttons, puts codes before
// a camera and lets networks fail. It promises that a page which complains in its
// console fails the test that opened it. It does not know what the pages should
// say: that is the tests' business, which are all that uses it.
package pagetest
