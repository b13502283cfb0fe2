package drill_test

import (
	"os"
	"sync"

	"portillon/server/servertest"
)

// pair says by which implementation of the act each of a drill's two servers judges.
type pair struct {
	name  string
	plain [2]bool
}

// opts are the options of one of the two servers.
func (f pair) opts(server int) []servertest.Option {
	if f.plain[server] {
		return []servertest.Option{servertest.Plain()}
	}
	return nil
}

// mixed is one server of each form on one database: both are under fire at once, and
// against each other.
var mixed = pair{"mixed", [2]bool{false, true}}

// forms are what is drilled: in the large run also two servers of the same form.
func forms() []pair {
	if large(1, 0) == 0 {
		return []pair{mixed}
	}
	return []pair{mixed, {"crowd", [2]bool{}}, {"plain", [2]bool{true, true}}}
}

// large is the number for make soak, and small the one for make test.
func large(soak, test int) int {
	if os.Getenv("PORTILLON_SOAK") != "" {
		return soak
	}
	return test
}

// together calls f for 0 to n-1 at the same moment.
func together(n int, f func(i int)) {
	var ready, done sync.WaitGroup
	gate := make(chan struct{})
	for i := range n {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-gate
			f(i)
		})
	}
	ready.Wait()
	close(gate)
	done.Wait()
}
