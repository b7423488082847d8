//go:build unix

package pglocal

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

type processInfo struct {
	parent int
	state  byte // as ps shows it: T is stopped, Z is a zombie
}

// crash kills the program and all its descendants at once, as a loss of power would. The program is
// stopped first, so that it neither starts nor reaps children: no process id in the list can be
// reused.
func (p *process) crash() error {
	pid := p.cmd.Process.Pid
	if p.cmd.Process.Signal(syscall.SIGSTOP) != nil { // it has ended
		<-p.done
		return nil
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		all, err := processes()
		if err == nil && time.Now().After(deadline) {
			err = fmt.Errorf("children of process %d are still there after %s", pid, patience)
		}
		if err != nil {
			return fmt.Errorf("pglocal: kill: %w", errors.Join(err, p.cmd.Process.Kill()))
		}
		self := all[pid]
		if self.state == 'Z' || self.parent == 0 { // ended before it could be stopped
			break
		}
		if self.state != 'T' {
			continue
		}
		alive := descendants(all, pid)
		if len(alive) == 0 {
			break
		}
		for _, child := range alive {
			_ = syscall.Kill(child, syscall.SIGKILL) // it may just have ended
		}
	}
	_ = p.cmd.Process.Kill() // as above
	<-p.done
	return nil
}

func descendants(all map[int]processInfo, ancestor int) []int {
	var found []int
	for pid, r := range all {
		if r.state == 'Z' || r.state == 'X' {
			continue
		}
		for up, steps := r.parent, 0; up > 1 && steps < len(all); up, steps = all[up].parent, steps+1 {
			if up == ancestor {
				found = append(found, pid)
				break
			}
		}
	}
	return found
}
