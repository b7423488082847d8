//go:build unix

package pglocal

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// home is the server's folder: data (PostgreSQL's files), settings.conf (Options.Settings) and
// password (exists once initdb has finished).
type home struct {
	dir       string
	temporary bool
	account   account
	bin       string
}

func (h home) data() string               { return filepath.Join(h.dir, "data") }
func (h home) settings() string           { return filepath.Join(h.dir, "settings.conf") }
func (h home) password() string           { return filepath.Join(h.dir, "password") }
func (h home) program(name string) string { return filepath.Join(h.bin, name) }

// watched is the folder that is removed when the caller's process dies.
func (h home) watched() string {
	if h.temporary {
		return h.dir
	}
	return ""
}

func newHome(ctx context.Context, o Options) (home, error) {
	bin, err := findPrograms(o.Bin)
	if err != nil {
		return home{}, err
	}
	account, err := accountFor(o.User)
	if err != nil {
		return home{}, err
	}
	h := home{dir: o.Dir, temporary: o.Dir == "", account: account, bin: bin}
	if h.temporary {
		return h.inTemporary(ctx)
	}
	if err := os.MkdirAll(h.dir, 0o755); err != nil {
		return home{}, fmt.Errorf("pglocal: folder: %w", err)
	}
	return h, account.reaches(ctx, h.dir)
}

// inTemporary creates a folder that only the account can read, where the account can reach it:
// root's TMPDIR may be private.
func (h home) inTemporary(ctx context.Context) (home, error) {
	var refused []error
	for _, place := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		dir, err := os.MkdirTemp(place, "interlude-pg-")
		if err == nil {
			err = errors.Join(h.account.own(dir), h.account.reaches(ctx, dir))
		}
		if err == nil {
			h.dir, err = filepath.Abs(dir)
			return h, err
		}
		refused = append(refused, fmt.Errorf("pglocal: temporary folder: %w", err))
		if dir != "" {
			refused = append(refused, os.Remove(dir))
		}
	}
	return home{}, errors.Join(refused...)
}

// prepare creates a cluster unless it exists, and returns its password.
func (h home) prepare(ctx context.Context, o Options) (string, error) {
	password, err := os.ReadFile(h.password())
	if errors.Is(err, fs.ErrNotExist) {
		return h.initialise(ctx, o)
	}
	if err != nil {
		return "", fmt.Errorf("pglocal: %w", err)
	}
	return strings.TrimSpace(string(password)), h.write(h.settings(), o.configuration())
}

// initialise runs initdb. In a temporary folder it runs without flushing, which would take most
// of its time: a temporary server does not outlive the machine, and the system's cache survives a
// crash of processes. The server itself flushes as usual.
func (h home) initialise(ctx context.Context, o Options) (password string, err error) {
	found, err := os.ReadDir(h.dir)
	if err != nil {
		return "", fmt.Errorf("pglocal: folder: %w", err)
	}
	if len(found) > 0 {
		return "", fmt.Errorf("pglocal: folder %s has files (%s, …), and they are no server's of this package: name "+
			"an empty one", h.dir, found[0].Name())
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(h.data()), os.RemoveAll(h.settings()),
				os.RemoveAll(h.password()+".new"))
		}
	}()
	password = rand.Text()
	secret, err := scramSecret(password)
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(h.data(), 0o700); err != nil {
		return "", fmt.Errorf("pglocal: folder: %w", err)
	}
	err = errors.Join(h.account.own(h.data()), h.write(h.settings(), o.configuration()), h.write(h.password()+".new",
		secret))
	if err != nil {
		return "", err
	}
	args := []string{
		"--pgdata", h.data(), "--username", superuser, "--pwfile", h.password() + ".new", "--auth", "scram-sha-256",
		"--encoding", "UTF8", "--locale", "C",
	}
	if h.temporary {
		args = append(args, "--no-sync")
	}
	if err := h.account.run(ctx, o.Log, h.watched(), h.program("initdb"), args...); err != nil {
		return "", err
	}
	if err := h.include(); err != nil {
		return "", err
	}
	return password, errors.Join(h.write(h.password()+".new", password), os.Rename(h.password()+".new", h.password()))
}

// scramSecret returns what PostgreSQL stores instead of the password (RFC 5803). It has one
// iteration instead of PostgreSQL's 4,096, which take 1 ms for each connection on either side:
// iterations protect passwords that can be guessed, and this one has 130 random bits.
func scramSecret(password string) (string, error) {
	const iterations = 1
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails
	salted, err := pbkdf2.Key(sha256.New, password, salt, iterations, sha256.Size)
	if err != nil {
		return "", fmt.Errorf("pglocal: password: %w", err)
	}
	key := func(name string) []byte {
		mac := hmac.New(sha256.New, salted)
		mac.Write([]byte(name))
		return mac.Sum(nil)
	}
	stored := sha256.Sum256(key("Client Key"))
	text := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s",
		iterations, text(salt), text(stored[:]), text(key("Server Key"))), nil
}

// include has the settings read after PostgreSQL's own file: later lines win.
func (h home) include() error {
	file, err := os.OpenFile(filepath.Join(h.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("pglocal: settings: %w", err)
	}
	_, err = file.WriteString("\ninclude '../settings.conf'\n")
	return errors.Join(err, file.Close())
}

func (h home) write(path, text string) error {
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return fmt.Errorf("pglocal: %w", err)
	}
	return h.account.own(path)
}

// leave removes a temporary folder. An unclean end leaves shared memory, which only PostgreSQL
// can find. So leave first starts PostgreSQL in single-user mode without flushing: it recovers,
// removes the shared memory, and ends.
func (h home) leave(ctx context.Context) error {
	if !h.temporary {
		return nil
	}
	if _, err := os.Stat(filepath.Join(h.data(), "postmaster.pid")); err == nil {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		// Remove the files of a damaged server even if this fails.
		_ = h.account.run(ctx, io.Discard, h.watched(), h.program("postgres"), "--single", "-F", "-D", h.data(),
			mainDatabase)
	}
	if err := h.remove(); err != nil {
		return fmt.Errorf("pglocal: %w", err)
	}
	return nil
}

// remove tries again for a moment: a killed process may still be making a file.
func (h home) remove() error {
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if err := os.RemoveAll(h.dir); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
