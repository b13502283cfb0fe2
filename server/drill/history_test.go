package drill_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// The history of one ticket that lets in one person, where some answers are lost.
type (
	presented struct{ key int } // from 1
	heard     struct {
		admitted, replayed bool
		lost               bool // no answer came: it happened, or happens yet, or never
	}
)

// oneEntry is the specification. A state is the key that was admitted, 0 none.
// What is lost may have happened or not, and a later answer tells.
var oneEntry = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{0} },
	Step: func(state, input, output any) []any {
		holder, key, answer := state.(int), input.(presented).key, output.(heard)
		fits, next := false, holder
		switch {
		case answer.lost && holder == 0:
			return []any{0, key}
		case answer.lost:
			fits = true
		case holder == 0:
			fits, next = answer.admitted && !answer.replayed, key
		case holder == key:
			fits = answer.admitted && answer.replayed
		default:
			fits = !answer.admitted
		}
		if !fits {
			return nil
		}
		return []any{next}
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}).ToModel()

// history is what the clients of one ticket saw.
type history struct {
	mu         sync.Mutex
	start      time.Time
	operations []porcupine.Operation
}

// note keeps one call. One without an answer never ends: it may still be on its way.
func (h *history) note(client, key int, call time.Time, answer heard) {
	op := porcupine.Operation{
		ClientId: client, Input: presented{key}, Call: call.Sub(h.start).Nanoseconds(), Output: answer, Return: math.MaxInt64,
	}
	if !answer.lost {
		op.Return = time.Since(h.start).Nanoseconds()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, op)
}

// check asks porcupine whether some order of the calls explains all answers.
func (h *history) check(t *testing.T) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !porcupine.CheckOperations(oneEntry, essential(h.operations)) {
		t.Errorf("not linearizable: %+v", h.operations)
	}
}

// essential leaves out lost calls under a key but the first. An entry lasts, so that
// one of them at most has an effect; the first may have it whenever another may, and
// without effect they fit anywhere. Porcupine would try them all against each other.
func essential(operations []porcupine.Operation) (kept []porcupine.Operation) {
	first := map[int]porcupine.Operation{}
	for _, op := range operations {
		if !op.Output.(heard).lost {
			kept = append(kept, op)
			continue
		}
		key := op.Input.(presented).key
		if before, ok := first[key]; !ok || op.Call < before.Call {
			first[key] = op
		}
	}
	return append(kept, slices.Collect(maps.Values(first))...)
}

func TestTheModelOfLostAnswersSeesWhatIsWrong(t *testing.T) {
	op := func(client, key int, call, back int64, answer heard) porcupine.Operation {
		return porcupine.Operation{ClientId: client, Input: presented{key}, Call: call, Return: back, Output: answer}
	}
	admitted, replayed, refused, lost := heard{admitted: true}, heard{admitted: true, replayed: true}, heard{}, heard{lost: true}
	for _, c := range []struct {
		name       string
		operations []porcupine.Operation
		fine       bool
	}{
		{"a lost admission is replayed", []porcupine.Operation{op(0, 1, 0, math.MaxInt64, lost), op(0, 1, 10, 20, replayed)}, true},
		{"what was lost never happened", []porcupine.Operation{op(0, 1, 0, math.MaxInt64, lost), op(0, 1, 10, 20, admitted)}, true},
		{"what was lost happens late", []porcupine.Operation{op(0, 1, 0, math.MaxInt64, lost), op(1, 2, 10, 20, refused), op(1, 1, 30, 40, replayed)}, true},
		{"nobody was admitted", []porcupine.Operation{op(0, 1, 0, 5, refused)}, false},
		{"two were admitted", []porcupine.Operation{op(0, 1, 0, 5, admitted), op(1, 2, 10, 20, admitted)}, false},
		{"a replay of nothing", []porcupine.Operation{op(0, 1, 0, 5, replayed)}, false},
		{"an admission is forgotten", []porcupine.Operation{op(0, 1, 0, 5, admitted), op(0, 1, 10, 20, admitted)}, false},
		{"a retry is told that it is too late", []porcupine.Operation{op(0, 1, 0, math.MaxInt64, lost), op(0, 1, 10, 20, refused)}, false},
	} {
		for range 2 { // in whatever order they are listed
			if fine := porcupine.CheckOperations(oneEntry, essential(c.operations)); fine != c.fine {
				t.Errorf("%s: %v", c.name, fine)
			}
			slices.Reverse(c.operations)
		}
	}
}

// of is how one client notes its calls under a key.
func (h *history) of(client, key int) func(call time.Time, answer heard) {
	return func(call time.Time, answer heard) { h.note(client, key, call, answer) }
}
