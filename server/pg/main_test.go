package pg_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"portillon/server/pg"
)

// childFolder names, in the environment, a data folder: the test binary then is not
// a test but a process that serves the folder until it is killed.
const childFolder = "PG_TEST_CHILD_FOLDER"

func TestMain(m *testing.M) {
	dir := os.Getenv(childFolder)
	if dir == "" {
		code := m.Run()
		if once.dir != "" {
			_ = os.RemoveAll(once.dir)
		}
		os.Exit(code)
	}
	s, err := pg.Start(context.Background(), pg.Options{DataDir: dir, Offline: true})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println(s.URL())
	select {}
}
