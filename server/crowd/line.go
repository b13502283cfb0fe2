package crowd

import "sync"

// Line is a queue in front of few workers who each take all that waits, up to a
// limit. Make one with New. It needs no closing: workers exist only while there is
// work.
type Line[Q any] struct {
	workers, room, most int
	work                func(batch []Q) (later []Q)

	mu      sync.Mutex
	waiting []Q
	working int
}

// New makes a line in which room calls may wait for the workers, who take at most
// most of them at a time. work answers them; those it returns go on waiting, first
// of all, since their turn has not come.
func New[Q any](workers, room, most int, work func(batch []Q) (later []Q)) *Line[Q] {
	return &Line[Q]{workers: workers, room: room, most: most, work: work}
}

// Join puts a call into the line; false when there is no room.
func (l *Line[Q]) Join(q Q) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) >= l.room {
		return false
	}
	l.waiting = append(l.waiting, q)
	if l.working < l.workers {
		l.working++
		go l.serve()
	}
	return true
}

// Waiting is how many calls nobody works on yet.
func (l *Line[Q]) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}

func (l *Line[Q]) serve() {
	var later []Q
	for {
		batch := l.take(later)
		if len(batch) == 0 {
			return
		}
		later = l.work(batch)
	}
}

// take gives the next batch, after putting those back whose turn has not come; none
// ends the worker.
func (l *Line[Q]) take(later []Q) []Q {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(later) > 0 {
		l.waiting = append(later[:len(later):len(later)], l.waiting...)
	}
	n := min(len(l.waiting), l.most)
	batch := append([]Q(nil), l.waiting[:n]...)
	clear(l.waiting[:n]) // what was taken must not be kept alive from here
	l.waiting = l.waiting[n:]
	if n == 0 {
		l.waiting = nil
		l.working--
	}
	return batch
}
