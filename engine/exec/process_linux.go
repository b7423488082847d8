package exec

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

const supported = true

// group gives the command a process group of its own, and its death with the thread that starts it.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// waitGroup waits for the command and ends what it left in its group, while it is still a zombie: until then its
// number cannot be anybody else's.
func waitGroup(cmd *exec.Cmd) error {
	awaitExit(cmd.Process.Pid)
	killGroup(cmd.Process.Pid)
	return cmd.Wait()
}

// awaitExit waits until the child has ended, and leaves it a zombie.
func awaitExit(pid int) {
	const byPID, noWait = 1, 0x1000000
	var info [128]byte
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(pid), uintptr(unsafe.Pointer(&info)), syscall.WEXITED|noWait, 0, 0) //nolint:gosec // the kernel fills in siginfo
		if !errors.Is(errno, syscall.EINTR) {
			return
		}
	}
}

// sweepTime is how long sweep waits for killed processes to be gone.
const sweepTime = 10 * time.Second

// sweep kills every process of this machine that carries the token, wherever it went, and reports whether all are
// gone. A process is held by a descriptor while it is looked at, so that the number cannot pass to another.
func sweep(token string) bool {
	mark := []byte(envToken + "=" + token + "\x00")
	for deadline := time.Now().Add(sweepTime); ; {
		found := 0
		names, err := os.ReadDir("/proc")
		if err != nil {
			return false
		}
		for _, n := range names {
			pid, err := strconv.Atoi(n.Name())
			if err != nil || pid == os.Getpid() {
				continue
			}
			p, err := os.FindProcess(pid)
			if err != nil {
				continue
			}
			env, err := os.ReadFile("/proc/" + n.Name() + "/environ")
			if err == nil && bytes.Contains(append([]byte{0}, env...), append([]byte{0}, mark...)) {
				found++
				_ = p.Kill() // it may have ended meanwhile
			}
			_ = p.Release()
		}
		if found == 0 {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(5 * time.Millisecond) // the killed are on their way
	}
}
