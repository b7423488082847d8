package main

import (
	"sync"
	"syscall"
)

// kind is what a system call does.
type kind uint8

const (
	opCreate kind = iota + 1 // a name in the folder comes to stand for a file
	opUnlink
	opWrite
	opTruncate
	opSync       // of a file
	opSyncFolder // of the folder's names
	opFailedSync

	// These change nothing, and are only made to fail.
	opOpen
	opRead
	opStat
	opMap
)

var kindNames = map[kind]string{opCreate: "create", opUnlink: "unlink", opWrite: "pwrite", opTruncate: "ftruncate",
	opSync: "fsync", opSyncFolder: "fsync of the folder", opFailedSync: "failed fsync", opOpen: "open",
	opRead: "pread", opStat: "fstat", opMap: "mmap"}

func (k kind) String() string { return kindNames[k] }

// op is a system call that changed the disk, or flushed it.
type op struct {
	Kind   kind
	File   int    // its number: a name may stand for several files, one after the other
	Name   string // of the file: opCreate, opUnlink
	Offset int64  // opWrite
	Data   []byte // opWrite
	Size   int64  // opTruncate
	// Upto is the position before which calls are covered by a flush: those that had returned when
	// it began.
	Upto int
}

// call is a system call that is about to be made.
type call struct {
	kind kind
	file int
	name string
	size int64
}

// short is an errno of no system: half of the bytes are written.
const short syscall.Errno = 0xffff

// disk records the system calls that SQLite makes for the files of a folder, and can have them
// fail.
type disk struct {
	dir string

	mu sync.Mutex
	// ask decides which calls fail, in the order of the calls; 0 lets one through. Nil: none fails.
	ask   func(call) syscall.Errno // guarded by mu
	ops   []op                     // guarded by mu
	names map[string]int           // guarded by mu; the files that the names stand for
	files []string                 // guarded by mu; the name of each file when it was made
	under map[int]int              // guarded by mu; the flushes under way: of which file, and Upto
}

func newDisk(dir string) *disk {
	return &disk{dir: dir, names: make(map[string]int), under: make(map[int]int)}
}

// disturb sets what decides which calls fail.
func (d *disk) disturb(ask func(call) syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ask = ask
}

// position is how many calls were recorded.
func (d *disk) position() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.ops)
}

func (d *disk) fault(c call) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.faultLocked(c)
}

func (d *disk) faultLocked(c call) syscall.Errno {
	if d.ask == nil {
		return 0
	}
	if c.name == "" {
		c.name = d.files[c.file]
	}
	return d.ask(c)
}

// openLocked returns the number of the file. A name that is new was made by this call, or just
// before it by the store.
func (d *disk) openLocked(name string) int {
	if file, ok := d.names[name]; ok {
		return file
	}
	file := len(d.files)
	d.files = append(d.files, name)
	d.names[name] = file
	d.ops = append(d.ops, op{Kind: opCreate, File: file, Name: name})
	return file
}

func (d *disk) unlinkLocked(name string) {
	d.ops = append(d.ops, op{Kind: opUnlink, File: d.names[name], Name: name})
	delete(d.names, name)
}

func (d *disk) writeLocked(file int, offset int64, data []byte) {
	d.ops = append(d.ops, op{Kind: opWrite, File: file, Offset: offset, Data: data})
}

func (d *disk) truncateLocked(file int, size int64) {
	d.ops = append(d.ops, op{Kind: opTruncate, File: file, Size: size})
}

// beginSync begins a flush; end records it.
func (d *disk) beginSync(file int) (end func(done bool)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	upto := len(d.ops)
	d.under[file] = upto
	return func(done bool) {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.under, file)
		k := opSync
		if !done {
			k = opFailedSync
		}
		d.ops = append(d.ops, op{Kind: k, File: file, Upto: upto})
	}
}

// failSync records a flush that failed: what it was to flush may never come to the disk, and later
// flushes do not try again.
func (d *disk) failSync(file int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ops = append(d.ops, op{Kind: opFailedSync, File: file, Upto: len(d.ops)})
}

// syncFolder records that the folder was flushed, for the file of this name.
func (d *disk) syncFolder(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if file, ok := d.names[name]; ok {
		if upto, ok := d.under[file]; ok {
			d.ops = append(d.ops, op{Kind: opSync, File: file, Upto: upto})
		}
	}
	d.ops = append(d.ops, op{Kind: opSyncFolder, Upto: len(d.ops)})
}
