package admit

import (
	"crypto/sha256"
	"sync"

	"portillon/server/ticket"
)

// provenKept is how many good signatures are remembered: those of a stadium's last
// minutes, in some four megabytes.
const provenKept = 1 << 16

// proven remembers signatures that were found good. A signature is good for its key
// for ever, so that nothing of this can become untrue; and a scan whose answer was
// lost comes again with the very same one, in a bad moment together with thousands
// of others.
type proven struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]struct{}
	order [][sha256.Size]byte // a ring: the oldest makes room
	next  int
}

func newProven() *proven { return &proven{known: map[[sha256.Size]byte]struct{}{}} }

// check is what verify says of a phone's code, from memory if it was said before.
func (p *proven) check(q *question, f ticket.Facts, publicKey []byte) bool {
	if f.Claim == nil || f.Claim.Paper || len(publicKey) != 64 {
		return q.verify(f, publicKey)
	}
	digest := sha256.New()
	event := f.Event.ID.UUID()
	digest.Write(publicKey) // both of one length, so that the whole is unambiguous
	digest.Write(event[:])
	digest.Write([]byte(q.in.Code))
	id := [sha256.Size]byte(digest.Sum(nil))
	if p.has(id) {
		return true
	}
	good := q.verify(f, publicKey)
	if good {
		p.add(id)
	}
	return good
}

func (p *proven) has(id [sha256.Size]byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.known[id]
	return ok
}

func (p *proven) add(id [sha256.Size]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.known[id]; ok {
		return
	}
	p.known[id] = struct{}{}
	if len(p.order) < provenKept {
		p.order = append(p.order, id)
		return
	}
	delete(p.known, p.order[p.next])
	p.order[p.next] = id
	p.next = (p.next + 1) % provenKept
}
