// Package migrations holds the schema of Portillon as numbered SQL files that
// goose applies in order. It promises that a published file never changes, that
// every file only goes up (the way back is a backup, since a column that was
// dropped on the way down takes its rows with it), and that every constraint has
// a name of our choosing, because the code tells violations apart by it. It does
// not know how or when the files are applied: package pg does.
package migrations

import "embed"

// FS holds the files NNNN_words.sql.
//
//go:embed *.sql
var FS embed.FS
