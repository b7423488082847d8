package process

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"github.com/interlude-go/interlude/internal/procid"
)

// Supported says that this system can keep processes under control: it needs process groups and
// signals.
const Supported = true

// group gives the command a process group of its own, and its death with the thread that starts it.
func group(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Pdeathsig = true, syscall.SIGKILL
}

// Contain has the command start as the first process of a process namespace: when it ends, or its
// host dies, the kernel ends all that it started, whatever that hid from. It is for
// Command.Sandbox.
//
// It needs Linux, and root's rights or user namespaces for everybody, which some systems and
// containers forbid: then Start fails with EPERM. As the first process of its namespace the program
// gets no signal that it does not handle, so that without a handler for TERM it is ended after
// Command.Grace. A user namespace has this user alone: files of others look like nobody's, and sudo
// does nothing.
func Contain(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	a := cmd.SysProcAttr
	a.Cloneflags |= syscall.CLONE_NEWPID
	if os.Geteuid() != 0 {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	}
	return nil
}

// reap waits for the process and ends what it left in its group, while it is still a zombie: until
// then its number cannot be anybody else's.
func (p *Process) reap() error {
	awaitExit(p.cmd.Process.Pid)
	p.retire()
	return p.cmd.Wait()
}

// awaitExit waits until the child has ended, and leaves it a zombie.
func awaitExit(pid int) {
	const byPID, noWait = 1, 0x1000000
	var info [128]byte
	for {
		into := uintptr(unsafe.Pointer(&info)) //nolint:gosec // the kernel fills in siginfo
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(pid), into, syscall.WEXITED|noWait, 0, 0)
		if !errors.Is(errno, syscall.EINTR) {
			return
		}
	}
}

// endGroup kills the group of a recorded process that lives, since a process of the group may have
// dropped its environment. The leader is stopped first, by a descriptor, so that it cannot end
// between the check of its identity and the signal to its group. It returns the group that it
// killed, or 0.
func endGroup(r record) int {
	pid, ok := procid.PID(r.Identity)
	if !ok {
		return 0
	}
	leader, err := os.FindProcess(pid)
	if err != nil {
		return 0
	}
	defer func() { _ = leader.Release() }()
	if procid.Alive(r.Identity) != procid.Living || !carries(pid, r.Token) || leader.Signal(syscall.SIGSTOP) != nil {
		return 0
	}
	if procid.Alive(r.Identity) == procid.Living {
		killGroup(pid)
		return pid
	}
	return 0
}
