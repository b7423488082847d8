package sqlite

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

type fileID unix.Statx_t

// identify requests only the file's number, since each flush calls it. Linux 6.13 and later record
// requests for a file's times, as by stat: the next write then updates the times, which the next
// fsync must make durable too, for a fifth of a round trip.
func identify(path string, id *fileID) error {
	for {
		err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_INO, (*unix.Statx_t)(id))
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM): // an old kernel, or a sandbox without it
			return identifyByStat(path, id)
		default:
			return err
		}
	}
}

func identifyByStat(path string, id *fileID) error {
	for {
		var st unix.Stat_t
		err := unix.Stat(path, &st)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		id.Ino = st.Ino
		device := uint64(st.Dev) //nolint:unconvert // some architectures have 32 bits for it
		id.Dev_major, id.Dev_minor = unix.Major(device), unix.Minor(device)
		return err
	}
}

// inodeOf returns a file's inode and its creation time as a text; ok is false if the file system
// does not keep it.
func inodeOf(f *os.File) (inode string, ok bool) {
	var x unix.Statx_t
	err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &x)
	return fmt.Sprint(x.Ino, x.Btime.Sec, x.Btime.Nsec), err == nil && x.Mask&unix.STATX_BTIME != 0
}

func (id *fileID) same(other *fileID) bool {
	return id.Ino == other.Ino && id.Dev_major == other.Dev_major && id.Dev_minor == other.Dev_minor
}
