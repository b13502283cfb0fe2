// Command leaks looks for secrets in what a run of the tests wrote into its
// databases:
//
//	PORTILLON_TEST_DUMP_DIR=DIR go test ./...
//	go run ./server/pgtest/leaks DIR
//
// It ends with 1 when a table holds a secret, naming file and table but not the
// secret, and also when there is no dump or no secret at all. See package leak for
// what it promises.
package main

import (
	"fmt"
	"io"
	"os"

	"portillon/server/pgtest/leak"
)

func main() { os.Exit(search(os.Args[1:], os.Stdout, os.Stderr)) }

func search(args []string, out, complaints io.Writer) (code int) {
	if len(args) != 1 {
		fmt.Fprintln(complaints, "usage: leaks DIR")
		return 2
	}
	report, err := leak.Search(args[0])
	if err != nil {
		fmt.Fprintln(complaints, "leaks:", err)
		return 1
	}
	for _, sentence := range report.Found {
		fmt.Fprintln(complaints, "leaks:", sentence)
	}
	if len(report.Found) > 0 {
		return 1
	}
	fmt.Fprintf(out, "leaks: none of %d secrets in %.1f MB of rows\n", report.Secrets, float64(report.Bytes)/1e6)
	return 0
}
