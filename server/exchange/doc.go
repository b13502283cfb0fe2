// Package exchange reads and writes the tables that other systems and spreadsheets
// understand: CSV (RFC 4180) with the encodings and separators that programs really
// use. It promises that what it cannot read with certainty is refused with the line
// and a stable code, and never guessed into rubbish; that a table written in either
// flavour is read back cell by cell as it was; and that no cell of the flavour for
// spreadsheets is taken for a formula. It does not know what a column means.
package exchange
