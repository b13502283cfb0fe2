package pagetest_test

import (
	"os"
	"testing"

	"portillon/web/pagetest"
)

func TestMain(m *testing.M) { os.Exit(pagetest.Main(m)) }
