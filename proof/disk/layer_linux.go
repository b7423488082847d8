//go:build linux && (amd64 || arm64)

package main

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// The layer is between SQLite and the operating system. SQLite makes system calls through a table
// that tests can change with xSetSystemCall. The table does not have fsync, so the layer replaces
// the method xSync of open files. Therefore the real store runs with the real SQLite on a real
// file, and the proof needs neither a tracer nor privileges. The layer passes on calls for files
// outside of the folders of disks.
var layer struct {
	once  sync.Once
	err   error
	calls map[string]uintptr // the original system calls, by SQLite's names
	xSync uintptr            // the original method

	mu    sync.RWMutex
	disks map[string]*disk // guarded by mu; by folder
	open  map[int32]opened // guarded by mu; by file descriptor
}

// opened is an open file of a disk.
type opened struct {
	disk *disk
	file int
}

// attach connects the disk to the files of its folder, until detach is called.
func attach(d *disk) (detach func(), _ error) {
	layer.once.Do(func() { layer.err = install() })
	if layer.err != nil {
		return nil, layer.err
	}
	layer.mu.Lock()
	defer layer.mu.Unlock()
	if layer.disks[d.dir] != nil {
		return nil, fmt.Errorf("disk: %s has one already", d.dir)
	}
	layer.disks[d.dir] = d
	return func() {
		layer.mu.Lock()
		defer layer.mu.Unlock()
		delete(layer.disks, d.dir)
	}, nil
}

// at returns a pointer to a variable at an address in the C library's memory, which Go does not
// manage.
func at[T any](address uintptr) *T {
	return *(**T)(unsafe.Pointer(&address)) //nolint:gosec // the address is in the C library's memory
}

// function converts a function pointer of the C library to a Go function, and pointer does the
// reverse. The garbage collector never frees these functions, because they are declared in this
// file.
func function[F any](pointer uintptr) F {
	holder := &struct{ pointer uintptr }{pointer}
	return *(*F)(unsafe.Pointer(holder)) //nolint:gosec // a pointer of the C library
}

func pointer(function any) uintptr {
	return (*[2]uintptr)(unsafe.Pointer(&function))[1] //nolint:gosec // the layout of the C library's own functions
}

type (
	openFunc          = func(tls *libc.TLS, path uintptr, flags, mode int32) int32
	closeFunc         = func(tls *libc.TLS, fd int32) int32
	transferFunc      = func(tls *libc.TLS, fd int32, buffer uintptr, n libc.Tsize_t, offset libc.Toff_t) libc.Tssize_t
	truncateFunc      = func(tls *libc.TLS, fd int32, size libc.Toff_t) int32
	unlinkFunc        = func(tls *libc.TLS, path uintptr) int32
	openDirectoryFunc = func(tls *libc.TLS, path, fd uintptr) int32
	syncFunc          = func(tls *libc.TLS, file uintptr, flags int32) int32
	fstatFunc         = func(tls *libc.TLS, fd int32, into uintptr) int32
	mmapFunc          = func(tls *libc.TLS, address uintptr, n libc.Tsize_t, protection, flags, fd int32,
		offset libc.Toff_t) uintptr
)

// install changes SQLite's table. It must be called before any file of a disk is open.
func install() error {
	layer.calls = make(map[string]uintptr)
	layer.disks, layer.open = make(map[string]*disk), make(map[int32]opened)
	tls := libc.NewTLS()
	defer tls.Close()
	if rc := sqlite3.Xsqlite3_initialize(tls); rc != sqlite3.SQLITE_OK {
		return fmt.Errorf("disk: SQLite does not start: %d", rc)
	}
	vfs := sqlite3.Xsqlite3_vfs_find(tls, 0)
	if vfs == 0 {
		return errors.New("disk: SQLite has no file system")
	}
	system := at[sqlite3.Tsqlite3_vfs](vfs)
	set := function[func(tls *libc.TLS, vfs, name, function uintptr) int32](system.FxSetSystemCall)
	get := function[func(tls *libc.TLS, vfs, name uintptr) uintptr](system.FxGetSystemCall)
	for name, f := range map[string]any{
		"open": onOpen, "close": onClose, "pwrite": onWrite, "pread": onRead, "ftruncate": onTruncate,
		"unlink":        onUnlink,
		"openDirectory": onOpenDirectory, "fstat": onStat, "mmap": onMap,
	} {
		text, err := libc.CString(name)
		if err != nil {
			return err
		}
		if layer.calls[name] = get(tls, vfs, text); layer.calls[name] == 0 {
			return fmt.Errorf("disk: SQLite does not use %s here", name)
		}
		if rc := set(tls, vfs, text, pointer(f)); rc != sqlite3.SQLITE_OK {
			return fmt.Errorf("disk: SQLite does not give %s away: %d", name, rc)
		}
		libc.Xfree(tls, text)
	}
	return installSync(tls, vfs, system)
}

// installSync replaces the method xSync in the tables of methods that open files use. There are
// two: one for databases, which have locks, and one for journals and WALs, which have none.
func installSync(tls *libc.TLS, vfs uintptr, system *sqlite3.Tsqlite3_vfs) error {
	open := function[func(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32](system.FxOpen)
	name, err := libc.CString("/dev/null")
	if err != nil {
		return err
	}
	defer libc.Xfree(tls, name)
	for _, flag := range []int32{sqlite3.SQLITE_OPEN_MAIN_DB, sqlite3.SQLITE_OPEN_WAL} {
		file := libc.Xcalloc(tls, 1, libc.Tsize_t(system.FszOsFile))
		if rc := open(tls, vfs, name, file, sqlite3.SQLITE_OPEN_READWRITE|flag, 0); rc != sqlite3.SQLITE_OK {
			return fmt.Errorf("disk: SQLite opens no file: %d", rc)
		}
		methods := at[sqlite3.Tsqlite3_io_methods](at[sqlite3.Tsqlite3_file](file).FpMethods)
		if ours := pointer(onSync); methods.FxSync != ours {
			layer.xSync, methods.FxSync = methods.FxSync, ours
		}
		closing := function[func(tls *libc.TLS, file uintptr) int32](methods.FxClose)
		if rc := closing(tls, file); rc != sqlite3.SQLITE_OK {
			return fmt.Errorf("disk: SQLite closes no file: %d", rc)
		}
		libc.Xfree(tls, file)
	}
	return nil
}

// diskOf returns the disk that the path is on.
func diskOf(path uintptr) (*disk, string) {
	name := libc.GoString(path)
	layer.mu.RLock()
	defer layer.mu.RUnlock()
	return layer.disks[filepath.Dir(name)], filepath.Base(name)
}

func openedAs(fd int32) opened {
	layer.mu.RLock()
	defer layer.mu.RUnlock()
	return layer.open[fd]
}

// fail sets errno.
func fail(tls *libc.TLS, e syscall.Errno) { *at[int32](libc.X__errno_location(tls)) = int32(e) }

func onOpen(tls *libc.TLS, path uintptr, flags, mode int32) int32 {
	system := function[openFunc](layer.calls["open"])
	d, name := diskOf(path)
	if d == nil {
		return system(tls, path, flags, mode)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.faultLocked(call{kind: opOpen, name: name}); e != 0 {
		fail(tls, e)
		return -1
	}
	fd := system(tls, path, flags, mode)
	if fd >= 0 {
		o := opened{d, d.openLocked(name)}
		layer.mu.Lock()
		layer.open[fd] = o
		layer.mu.Unlock()
	}
	return fd
}

func onClose(tls *libc.TLS, fd int32) int32 {
	layer.mu.Lock()
	delete(layer.open, fd)
	layer.mu.Unlock()
	return function[closeFunc](layer.calls["close"])(tls, fd)
}

func onWrite(tls *libc.TLS, fd int32, buffer uintptr, n libc.Tsize_t, offset libc.Toff_t) libc.Tssize_t {
	system := function[transferFunc](layer.calls["pwrite"])
	o := openedAs(fd)
	if o.disk == nil {
		return system(tls, fd, buffer, n, offset)
	}
	o.disk.mu.Lock()
	defer o.disk.mu.Unlock()
	e := o.disk.faultLocked(call{kind: opWrite, file: o.file, size: int64(n)})
	if e == short && n > 1 {
		e, n = 0, n/2 // as on a disk that is full after half of the bytes
	}
	if e != 0 {
		fail(tls, e)
		return -1
	}
	written := system(tls, fd, buffer, n, offset)
	if written > 0 {
		o.disk.writeLocked(o.file, offset, bytes.Clone(libc.GoBytes(buffer, int(written))))
	}
	return written
}

func onRead(tls *libc.TLS, fd int32, buffer uintptr, n libc.Tsize_t, offset libc.Toff_t) libc.Tssize_t {
	if o := openedAs(fd); o.disk != nil {
		if e := o.disk.fault(call{kind: opRead, file: o.file, size: int64(n)}); e != 0 {
			fail(tls, e)
			return -1
		}
	}
	return function[transferFunc](layer.calls["pread"])(tls, fd, buffer, n, offset)
}

func onTruncate(tls *libc.TLS, fd int32, size libc.Toff_t) int32 {
	system := function[truncateFunc](layer.calls["ftruncate"])
	o := openedAs(fd)
	if o.disk == nil {
		return system(tls, fd, size)
	}
	o.disk.mu.Lock()
	defer o.disk.mu.Unlock()
	if e := o.disk.faultLocked(call{kind: opTruncate, file: o.file}); e != 0 {
		fail(tls, e)
		return -1
	}
	rc := system(tls, fd, size)
	if rc == 0 {
		o.disk.truncateLocked(o.file, size)
	}
	return rc
}

func onUnlink(tls *libc.TLS, path uintptr) int32 {
	system := function[unlinkFunc](layer.calls["unlink"])
	d, name := diskOf(path)
	if d == nil {
		return system(tls, path)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.faultLocked(call{kind: opUnlink, name: name}); e != 0 {
		fail(tls, e)
		return -1
	}
	rc := system(tls, path)
	if rc == 0 {
		d.unlinkLocked(name)
	}
	return rc
}

// onOpenDirectory records a flush of the folder. SQLite opens the folder only to flush it, and does
// so at once. If it does this during the flush of a file, it has flushed the file before.
func onOpenDirectory(tls *libc.TLS, path, fd uintptr) int32 {
	d, name := diskOf(path)
	if d != nil {
		if e := d.fault(call{kind: opSyncFolder, name: name}); e != 0 {
			fail(tls, e)
			return sqlite3.SQLITE_CANTOPEN
		}
	}
	rc := function[openDirectoryFunc](layer.calls["openDirectory"])(tls, path, fd)
	if d != nil && rc == sqlite3.SQLITE_OK {
		d.syncFolder(name)
	}
	return rc
}

func onSync(tls *libc.TLS, file uintptr, flags int32) int32 {
	system := function[syncFunc](layer.xSync)
	o := openedAs(at[sqlite3.TunixFile](file).Fh)
	if o.disk == nil {
		return system(tls, file, flags)
	}
	if e := o.disk.fault(call{kind: opSync, file: o.file}); e != 0 {
		o.disk.failSync(o.file)
		fail(tls, e)
		at[sqlite3.TunixFile](file).FlastErrno = int32(e)
		return sqlite3.SQLITE_IOERR_FSYNC
	}
	end := o.disk.beginSync(o.file)
	rc := system(tls, file, flags)
	end(rc == sqlite3.SQLITE_OK)
	return rc
}

func onStat(tls *libc.TLS, fd int32, into uintptr) int32 {
	if o := openedAs(fd); o.disk != nil {
		if e := o.disk.fault(call{kind: opStat, file: o.file}); e != 0 {
			fail(tls, e)
			return -1
		}
	}
	return function[fstatFunc](layer.calls["fstat"])(tls, fd, into)
}

func onMap(tls *libc.TLS, address uintptr, n libc.Tsize_t, protection, flags, fd int32,
	offset libc.Toff_t,
) uintptr {
	if o := openedAs(fd); o.disk != nil {
		if e := o.disk.fault(call{kind: opMap, file: o.file, size: int64(n)}); e != 0 {
			fail(tls, e)
			return ^uintptr(0)
		}
	}
	return function[mmapFunc](layer.calls["mmap"])(tls, address, n, protection, flags, fd, offset)
}
