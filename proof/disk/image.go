package main

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// loss is what becomes of the calls that no flush has covered when the power goes.
type loss struct {
	name string
	// keeps says whether the name or the truncation, or a write in whole, came to the disk.
	keeps func(r *rand.Rand, n, of int) bool
	// sector, unless 0, tears each write that is kept: each of its sectors came to the disk or did
	// not.
	sector int64
}

func coin(r *rand.Rand, _, _ int) bool { return r.IntN(2) == 0 }
func all(*rand.Rand, int, int) bool    { return true }

// losses are all ways. A write that is left out while a later one is kept was reordered.
var losses = []loss{
	{"nothing that was not flushed is there", func(*rand.Rand, int, int) bool { return false }, 0},
	{"everything is there", all, 0},
	{"the first writes are there", nil, 0},
	{"any of the writes are there", coin, 0},
	{"any sectors of 512 bytes are there", all, 512},
	{"any sectors of 4096 bytes are there", all, 4096},
	{"any sectors of 512 bytes of any writes are there", coin, 512},
}

// platter is what the disk has at a position of a trace.
type platter struct {
	ops      []op
	position int
	random   *rand.Rand

	files   map[int][]byte // what is there for certain
	names   map[string]int // as files
	pending []int          // the calls that no flush has covered, in their order
	// doubtful are writes that a flush has covered that failed. The system may have given them up,
	// so that a later flush does not bring them to the disk either.
	doubtful map[int]bool
	// deaf are names of files whose flushes are left out.
	deaf string
}

func newPlatter(ops []op, seed uint64) *platter {
	return &platter{ops: ops, random: rand.New(rand.NewPCG(seed, 1)), files: make(map[int][]byte),
		names: make(map[string]int), doubtful: make(map[int]bool)}
}

// advance goes on to a later position.
func (p *platter) advance(to int) {
	for ; p.position < to; p.position++ {
		switch o := &p.ops[p.position]; o.Kind {
		case opSync:
			p.flush(o, func(of *op) bool {
				return (of.Kind == opWrite || of.Kind == opTruncate) && of.File == o.File
			})
		case opSyncFolder:
			p.flush(o, func(of *op) bool { return of.Kind == opCreate || of.Kind == opUnlink })
		case opFailedSync:
			for _, n := range p.pending {
				p.doubtful[n] = p.doubtful[n] || p.ops[n].File == o.File
			}
		default:
			p.pending = append(p.pending, p.position)
		}
	}
}

func (p *platter) flush(o *op, covers func(*op) bool) {
	if p.deaf != "" && o.Kind == opSync && p.nameOf(o.File) == p.deaf {
		return
	}
	p.pending = slices.DeleteFunc(p.pending, func(n int) bool {
		if n >= o.Upto || !covers(&p.ops[n]) {
			return false
		}
		if !p.doubtful[n] || p.random.IntN(2) == 0 {
			change(p.files, p.names, &p.ops[n], nil, 0)
		}
		return true
	})
}

func (p *platter) nameOf(file int) string {
	for i := range p.ops {
		if p.ops[i].Kind == opCreate && p.ops[i].File == file {
			return p.ops[i].Name
		}
	}
	return ""
}

// change does what a call did. With torn, only some sectors of a write are written.
func change(files map[int][]byte, names map[string]int, o *op, torn *rand.Rand, sector int64) {
	switch o.Kind {
	case opCreate:
		names[o.Name] = o.File
	case opUnlink:
		if names[o.Name] == o.File {
			delete(names, o.Name)
		}
	case opTruncate:
		files[o.File] = resize(files[o.File], o.Size)
	case opWrite:
		for from, end := int64(0), int64(len(o.Data)); from < end; {
			to := end
			if sector > 0 {
				to = min(end, (o.Offset+from)/sector*sector+sector-o.Offset)
			}
			if sector == 0 || torn.IntN(2) == 0 {
				body := files[o.File]
				if int64(len(body)) < o.Offset+to {
					body = resize(body, o.Offset+to)
				}
				copy(body[o.Offset+from:], o.Data[from:to])
				files[o.File] = body
			}
			from = to
		}
	}
}

func resize(body []byte, size int64) []byte {
	if int64(len(body)) >= size {
		return body[:size:size]
	}
	return append(body, make([]byte, size-int64(len(body)))...)
}

// image is what a loss of power leaves at the position, as the files' names and content.
func (p *platter) image(l loss) map[string][]byte {
	files, names := make(map[int][]byte), maps.Clone(p.names)
	for file, body := range p.files {
		files[file] = slices.Clone(body)
	}
	keeps := l.keeps
	if keeps == nil {
		first := p.random.IntN(len(p.pending) + 1)
		keeps = func(_ *rand.Rand, n, _ int) bool { return n < first }
	}
	for i, n := range p.pending {
		if keeps(p.random, i, len(p.pending)) {
			change(files, names, &p.ops[n], p.random, l.sector)
		}
	}
	out := make(map[string][]byte)
	for name, file := range names {
		if !strings.HasSuffix(name, "-shm") { // shared memory; who opens the database first makes it anew
			out[name] = files[file]
		}
	}
	return out
}

// write puts an image into a folder.
func write(dir string, image map[string][]byte) error {
	for name, body := range image {
		if err := os.WriteFile(filepath.Join(dir, name), body, 0o600); err != nil {
			return err
		}
	}
	return nil
}
