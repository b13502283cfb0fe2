// Package report counts: how an event's tickets stand, who is inside, and what the
// doors answered over time, by reason, gate and person. It promises that the
// figures of one report are of one moment and agree with each other. It reads what
// others wrote and changes nothing; it does not know how a scan is decided
// (package admit) nor how a ticket is issued (package issue).
package report
