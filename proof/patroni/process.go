//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// site is a private folder with processes. Each process has its working directory in the folder,
// which identifies it together with its descendants: a server that Patroni starts, too.
type site struct {
	dir      string
	account  *syscall.Credential // root starts the servers as this user; nil for other callers
	watcher  *exec.Cmd
	watching io.WriteCloser
}

// watch waits until the proof ends, even by kill -9. It then kills all processes in the folder, and
// removes the folder unless it has read a line.
const watch = `read -r retain
n=0
while [ $n -lt 100 ]; do
	found=
	for p in /proc/[0-9]*; do
		case $(readlink "$p/cwd" 2>/dev/null) in "$1" | "$1"/*) found=1; kill -9 "${p#/proc/}" 2>/dev/null ;; esac
	done
	[ -n "$found" ] || break
	n=$((n + 1))
	sleep 0.1
done
[ -n "$retain" ] || rm -rf "$1"`

func newSite() (*site, error) {
	s := new(site)
	if os.Geteuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			return nil, fmt.Errorf("root may not run PostgreSQL: %w", err)
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, err
		}
		s.account = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	dir, err := os.MkdirTemp("", "interlude-patroni-")
	if err != nil {
		return nil, err
	}
	if s.dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	if err := os.Chmod(s.dir, 0o755); err != nil { // the servers' user passes
		return nil, err
	}
	s.watcher = exec.CommandContext(context.Background(), "/bin/sh", "-c", watch, "sh", s.dir)
	s.watcher.Dir, s.watcher.SysProcAttr = "/", &syscall.SysProcAttr{Setsid: true}
	if s.watching, err = s.watcher.StdinPipe(); err != nil {
		return nil, err
	}
	return s, s.watcher.Start()
}

// leave kills all processes, and removes their files unless they are to be retained.
func (s *site) leave(retain bool) error {
	if retain {
		fmt.Fprintf(os.Stderr, "the files and logs are in %s\n", s.dir)
		if _, err := io.WriteString(s.watching, "retain\n"); err != nil {
			return err
		}
	}
	return errors.Join(s.watching.Close(), s.watcher.Wait())
}

// folder makes a folder for the servers' user.
func (s *site) folder(name string) error {
	if err := os.Mkdir(filepath.Join(s.dir, name), 0o700); err != nil {
		return err
	}
	return s.own(name)
}

// write writes a file that the servers' user can read.
func (s *site) write(name, text string) error {
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		return err
	}
	return s.own(name)
}

func (s *site) own(name string) error {
	if s.account == nil {
		return nil
	}
	return os.Chown(filepath.Join(s.dir, name), int(s.account.Uid), int(s.account.Gid))
}

// start starts a program in a folder of the site. Its output is appended to the folder's log.
func (s *site) start(folder, program string, args ...string) (*os.Process, error) {
	at := filepath.Join(s.dir, folder)
	log, err := os.OpenFile(at+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.CommandContext(context.Background(), program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = at, log, log
	cmd.Env = append(os.Environ(), "HOME="+at, "LC_ALL=C.UTF-8")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: s.account}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	go func() { _ = cmd.Wait() }() // its end is seen by its effects
	return cmd.Process, nil
}

// signal sends a signal to all processes in a folder of the site. Before kill -9 they are stopped, so that
// none starts another one.
func (s *site) signal(folder string, sig syscall.Signal) error {
	sent := 0
	if sig == syscall.SIGKILL {
		if err := s.signal(folder, syscall.SIGSTOP); err != nil {
			return err
		}
	}
	for known := make(map[int]bool); ; {
		pids, err := s.processes(folder)
		if err != nil {
			return err
		}
		fresh := false
		for _, pid := range pids {
			if !known[pid] {
				known[pid], fresh = true, true
				_ = syscall.Kill(pid, sig) // it may have ended
				sent++
			}
		}
		if !fresh {
			break
		}
	}
	if sent == 0 {
		return fmt.Errorf("no process is in %s", folder)
	}
	return nil
}

// processes lists the processes whose working directory is in a folder of the site.
func (s *site) processes(folder string) (pids []int, _ error) {
	all, err := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range all {
		at, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(at+"/", filepath.Join(s.dir, folder)+"/") {
			continue // it has ended, or is another user's
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, err
}

// until repeats try until it succeeds. After the limit, the error names the awaited event.
func until(ctx context.Context, limit time.Duration, awaited string, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%s: not within %s: %w", awaited, limit, err)
		}
	}
}
