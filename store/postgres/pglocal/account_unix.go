//go:build unix

package pglocal

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// account is the server's user. The zero value is the calling user.
type account struct {
	name       string
	credential *syscall.Credential
}

// accountFor finds the user as whom root runs the server. Others have no choice.
func accountFor(name string) (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	names := []string{"postgres", "nobody"}
	if name != "" {
		names = []string{name}
	}
	for _, name := range names {
		if u, err := user.Lookup(name); err == nil {
			return newAccount(u)
		}
	}
	return account{}, fmt.Errorf("pglocal: root may not run PostgreSQL, and there is no user %q to do it: name one "+
		"in Options.User", names)
}

func newAccount(u *user.User) (account, error) {
	uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
	if uidErr != nil || gidErr != nil || uid == 0 {
		return account{}, fmt.Errorf("pglocal: user %s (uid %s, gid %s) cannot run PostgreSQL: name another in "+
			"Options.User", u.Username, u.Uid, u.Gid)
	}
	return account{name: u.Username, credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

func (a account) own(path string) error {
	if a.credential == nil {
		return nil
	}
	return os.Chown(path, int(a.credential.Uid), int(a.credential.Gid))
}

// attributes returns the attributes for a process of the account in a separate session, since the
// caller handles the terminal's interrupts.
func (a account) attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: a.credential, Setsid: true}
}

// reaches tries whether the account may enter the folder: rights have more sources than the mode.
func (a account) reaches(ctx context.Context, dir string) error {
	if a.credential == nil {
		return nil
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", `cd -- "$1"`, "sh", dir)
	cmd.Dir, cmd.SysProcAttr = "/", a.attributes()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("pglocal: user %s, who runs the server for root, cannot enter %s: name another folder, or "+
			"let others pass (chmod o+x) on the way to it: %w", a.name, dir, err)
	}
	return nil
}
