package procid

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// bootID is the kernel's random id of this boot and the id of the process namespace, since each
// container has its own process numbers.
var bootID = sync.OnceValues(func() (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("procid: %w", err)
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "", fmt.Errorf("procid: %w", err)
	}
	return strings.TrimSpace(string(boot)) + "/" + namespace, nil
})

// startTime returns field 22 of /proc/PID/stat: clock ticks since boot. A process that has ended
// but was not yet waited for (state Z or X) counts as gone, unless only its first thread has ended:
// the others may run on, and start processes. A system may hide other users' processes from /proc,
// so for a missing file the kernel is asked.
func startTime(pid int) (string, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return "", fmt.Errorf("procid: process %d: %w", pid, os.ErrNotExist)
		}
		return "", fmt.Errorf("procid: process %d exists, but cannot be looked at: %s", pid,
			err) //nolint:errorlint // the caller must not see os.ErrNotExist
	}
	// The second field is the program's name in parentheses, with any characters.
	end := bytes.LastIndexByte(stat, ')')
	fields := strings.Fields(string(stat[end+1:]))
	if end < 0 || len(fields) < 20 {
		return "", fmt.Errorf("procid: /proc/%d/stat has %d fields", pid, len(fields))
	}
	if one := fields[17] == "0" || fields[17] == "1"; one && (fields[0] == "Z" || fields[0] == "X") {
		return "", os.ErrNotExist
	}
	return fields[19], nil
}
