package crowd_test

import (
	"runtime"
	"sync"
	"testing"

	"portillon/server/crowd"
)

// call is one of a crowd; it is answered with the batch that it went with.
type call struct {
	number int
	batch  chan []int
}

func numbers(batch []*call) (list []int) {
	for _, c := range batch {
		list = append(list, c.number)
	}
	return list
}

func TestACallThatFindsNobodyIsWorkedOnAtOnceAndTheNextOnesGoTogether(t *testing.T) {
	t.Parallel()
	begun, goOn := make(chan []int), make(chan struct{})
	line := crowd.New(1, 100, 3, func(batch []*call) []*call {
		begun <- numbers(batch)
		<-goOn
		return nil
	})
	line.Join(&call{number: 0})
	if first := <-begun; len(first) != 1 {
		t.Fatalf("the first batch is %v", first)
	}
	for i := 1; i <= 5; i++ {
		line.Join(&call{number: i})
	}
	if line.Waiting() != 5 {
		t.Errorf("%d wait", line.Waiting())
	}
	for _, want := range [][]int{{1, 2, 3}, {4, 5}} {
		goOn <- struct{}{}
		got := <-begun
		if len(got) != len(want) || got[0] != want[0] {
			t.Errorf("the next batch is %v, want %v", got, want)
		}
	}
	goOn <- struct{}{}
	line.Join(&call{number: 6}) // the line works again after it was empty
	if got := <-begun; len(got) != 1 || got[0] != 6 {
		t.Errorf("after a pause: %v", got)
	}
	goOn <- struct{}{}
}

func TestWhoIsPutBackGoesFirstNextTime(t *testing.T) {
	t.Parallel()
	var seen [][]int
	done := make(chan struct{})
	first := true
	hold := make(chan struct{})
	line := crowd.New(1, 100, 100, func(batch []*call) []*call {
		<-hold
		seen = append(seen, numbers(batch))
		if first {
			first = false
			return batch
		}
		close(done)
		return nil
	})
	line.Join(&call{number: 1})
	for line.Waiting() > 0 { // until the worker has taken the first
		runtime.Gosched()
	}
	line.Join(&call{number: 2})
	close(hold)
	<-done
	if len(seen) != 2 || len(seen[1]) != 2 || seen[1][0] != 1 || seen[1][1] != 2 {
		t.Errorf("batches: %v", seen)
	}
}

func TestALineWithoutRoomTurnsAway(t *testing.T) {
	t.Parallel()
	begun, goOn := make(chan struct{}), make(chan struct{})
	line := crowd.New(1, 2, 10, func([]*call) []*call {
		begun <- struct{}{}
		<-goOn
		return nil
	})
	line.Join(&call{})
	<-begun
	for i, want := range []bool{true, true, false} {
		if line.Join(&call{}) != want {
			t.Errorf("two may wait, and a third may not: call %d", i+1)
		}
	}
	goOn <- struct{}{}
	<-begun
	if !line.Join(&call{}) {
		t.Error("there is room again")
	}
	goOn <- struct{}{}
	<-begun
	goOn <- struct{}{}
}

func TestOfAThousandCallsAtOnceEachIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	const calls = 1000
	answered := make([]int, calls)
	var mu sync.Mutex
	line := crowd.New(2, calls, 64, func(batch []*call) (later []*call) {
		for i, c := range batch {
			if i%7 == 6 { // some have to wait for another turn
				later = append(later, c)
				continue
			}
			mu.Lock()
			answered[c.number]++
			mu.Unlock()
			c.batch <- nil
		}
		return later
	})
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			c := &call{number: i, batch: make(chan []int, 1)}
			if !line.Join(c) {
				t.Error("turned away")
				return
			}
			<-c.batch
		})
	}
	all.Wait()
	for i, n := range answered {
		if n != 1 {
			t.Errorf("call %d was answered %d times", i, n)
		}
	}
}
