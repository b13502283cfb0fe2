// Package crowd lets calls that wait at the same time be answered together. It
// promises that a call which finds nobody before it is worked on at once, without
// any timer; that whatever comes meanwhile waits, in its order, and goes together
// next; and that no more wait than there is room for. It does not know what the
// calls ask.
package crowd
