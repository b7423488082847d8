package main

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// loss says which of the calls that no flush has covered reach the disk when the power is lost.
type loss struct {
	name string
	// keeps reports whether call n of the given number reached the disk.
	keeps func(r *rand.Rand, n, of int) bool
	// sector, unless 0, is the size of sectors. Of each write that is kept, a random part of the
	// sectors reached the disk.
	sector int64
}

func coin(r *rand.Rand, _, _ int) bool { return r.IntN(2) == 0 }
func all(*rand.Rand, int, int) bool    { return true }

// losses are all kinds of loss. They include reordered writes: a write may be lost while a later
// one is kept.
var losses = []loss{
	{"nothing that was not flushed is there", func(*rand.Rand, int, int) bool { return false }, 0},
	{"everything is there", all, 0},
	{"the first writes are there", nil, 0},
	{"any of the writes are there", coin, 0},
	{"any sectors of 512 bytes are there", all, 512},
	{"any sectors of 4096 bytes are there", all, 4096},
	{"any sectors of 512 bytes of any writes are there", coin, 512},
}

// platter is the content of the disk at a position of a trace.
type platter struct {
	ops      []op
	position int
	random   *rand.Rand

	files   map[int][]byte // content that is certainly on the disk, by file
	names   map[string]int // the file of each name that is certainly on the disk
	pending []int          // the calls that no flush has covered, in order
	// doubtful has the writes for which a flush has failed. The system may have dropped them, so
	// that a later flush does not write them either.
	doubtful map[int]bool
	// deaf is the name of a file whose flushes have no effect.
	deaf string
}

func newPlatter(ops []op, seed uint64) *platter {
	return &platter{ops: ops, random: rand.New(rand.NewPCG(seed, 1)), files: make(map[int][]byte),
		names: make(map[string]int), doubtful: make(map[int]bool)}
}

// advance applies the calls up to a later position.
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

// change applies a call. If sector is not 0, only random sectors of a write are applied.
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

// image returns the files after a power failure at the position: content by name.
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
		// shared memory, which the first process that opens the database recreates
		if !strings.HasSuffix(name, "-shm") {
			out[name] = files[file]
		}
	}
	return out
}

// write writes the files of an image to a folder.
func write(dir string, image map[string][]byte) error {
	for name, body := range image {
		if err := os.WriteFile(filepath.Join(dir, name), body, 0o600); err != nil {
			return err
		}
	}
	return nil
}
