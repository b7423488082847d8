package process

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"github.com/interlude-go/interlude/internal/procid"
)

// Supported says that this system can control processes: it has process groups and signals.
const Supported = true

// group starts the command in a new process group that dies with the thread that starts it.
func group(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Pdeathsig = true, syscall.SIGKILL
}

// Contain starts the command as the first process of a process namespace: when it ends, or its host
// dies, the kernel ends all its descendants, even hidden ones. Use it in Command.Sandbox.
//
// It needs Linux, and root or unprivileged user namespaces, which some systems and containers
// forbid: then Start fails with EPERM. As the first process of its namespace, the program gets only
// signals that it handles, so a program without a handler for TERM is killed after Command.Grace. A
// user namespace has only this user: files of other users appear to belong to user nobody, and sudo
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

// reap waits for the process and ends the rest of its group while it is still a zombie, because
// until then its number cannot be reused.
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

// endGroup kills the group of a recorded process that lives, because a process of the group may
// have dropped its environment. It first stops the leader, through a descriptor, so that the leader
// cannot end between the check of its identity and the signal to its group. It returns the killed
// group, or 0.
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
