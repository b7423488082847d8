package main

import (
	"sync"
	"syscall"
)

// kind is the kind of a system call.
type kind uint8

const (
	opCreate kind = iota + 1 // a name in the folder refers to a new file
	opUnlink
	opWrite
	opTruncate
	opSync       // flushes a file
	opSyncFolder // flushes the names in the folder
	opFailedSync

	// Calls of these kinds change nothing. The proof only lets them fail.
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
	File   int    // the number of the file: a name may refer to several files, one after the other
	Name   string // the name of the file: opCreate, opUnlink
	Offset int64  // opWrite
	Data   []byte // opWrite
	Size   int64  // opTruncate
	// Upto is set for a flush: it covers the calls before this position, which had returned when
	// the flush began.
	Upto int
}

// call is a system call that is about to be made.
type call struct {
	kind kind
	file int
	name string
	size int64
}

// short is an errno that no system has. It means that half of the bytes are written.
const short syscall.Errno = 0xffff

// disk records the system calls that SQLite makes for the files of a folder, and can let them fail.
type disk struct {
	dir string

	mu sync.Mutex
	// inject returns the error of a call, and 0 for a call that succeeds. It is called for each
	// call in order. If it is nil, no call fails.
	inject func(call) syscall.Errno // guarded by mu
	ops    []op                     // guarded by mu
	names  map[string]int           // guarded by mu; the file that each name refers to
	files  []string                 // guarded by mu; the name of each file when it was made
	under  map[int]int              // guarded by mu; the flushes in progress: Upto by file
}

func newDisk(dir string) *disk {
	return &disk{dir: dir, names: make(map[string]int), under: make(map[int]int)}
}

// injectFaults sets the function that decides which calls fail.
func (d *disk) injectFaults(inject func(call) syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inject = inject
}

// position returns the number of recorded calls.
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
	if d.inject == nil {
		return 0
	}
	if c.name == "" {
		c.name = d.files[c.file]
	}
	return d.inject(c)
}

// openLocked returns the number of the file. A file with a new name was created by this call, or by
// the store just before it.
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

// failSync records a flush that failed: the writes that it should have flushed may never reach the
// disk, and later flushes do not retry them.
func (d *disk) failSync(file int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ops = append(d.ops, op{Kind: opFailedSync, File: file, Upto: len(d.ops)})
}

// syncFolder records that the folder was flushed on behalf of the file with this name.
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
